//! How a writer ends its fill: with what was kept as a body for the store, or with a failure.

use super::{Broken, End, FillState, Keeping, Writer, placing::Place};
use crate::{Body, fill::held::Held};
use bytes::Bytes;
use std::{
    mem,
    task::{Context, Poll, ready},
};

impl Writer {
    /// Ends the body, and tells its readers. Ready when it is known whether the body is kept: for a backed fill when
    /// the device has written all of it or failed, and at once otherwise.
    pub fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.end();
        if self.backing.is_some() && !ready!(self.poll_hand_over(context)) {
            return Poll::Ready(());
        }
        let Some(backing) = &mut self.backing else {
            return Poll::Ready(());
        };
        match ready!(backing.poll_finish(context)) {
            Ok(body) if body.len() == self.handed => {
                self.backing = None;
                self.whole = Some(body.clone());
                let mut state = self.fill.lock();
                // Readers that are not done come to it when their clients let them.
                state.keeping = Keeping::Backed(body.held());
                state.give_room_back();
                state.trim();
            }
            _ => self.spill(),
        }
        Poll::Ready(())
    }

    fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            let mut state = self.fill.lock();
            state.end = Some(End::Complete);
            state.readers.wake();
        }
    }

    /// Fails the fill because its source has failed. Readers are told `why`, which is one token.
    pub fn fail(self, why: &'static str) {
        self.fill.lock().end = Some(End::Failed(Broken::Source(why)));
    }

    /// Ends the body, and returns it for the store unless the fill was spilled. A backed fill must have
    /// [ended](Self::poll_end) before; otherwise it is spilled now.
    pub fn finish(mut self) -> Option<Body> {
        self.end();
        if self.backing.is_some() {
            self.spill();
        }
        let body = self.kept();
        let mut state = self.fill.lock();
        let mut copied = Held::default();
        if matches!(state.keeping, Keeping::Memory) {
            // The store weighs what it keeps.
            state.reservation.release();
            if let Some(joined) = body.as_ref().and_then(Body::in_one) {
                // Readers that are not done need no copy of their own.
                copied = mem::replace(&mut state.held, Held::whole(joined));
            }
        }
        drop(state);
        drop(copied);
        body
    }

    /// What is kept of the body. A body in memory that did not come in one place is copied without the lock, so that no
    /// reader waits. Nobody else adds to the fill, or makes it keep less.
    fn kept(&mut self) -> Option<Body> {
        let place = mem::replace(&mut self.place, Place::Outside);
        let state = self.fill.lock();
        match &state.keeping {
            Keeping::Memory => {
                if let Place::Arena(growing) = place
                    && let Some(extent) = growing.finish()
                {
                    return Some(Body::Mapped(extent));
                }
                let mut pieces: Vec<Bytes> = state.held.pieces().collect();
                let (length, begins_mapped) =
                    (state.held.received() as usize, state.held.is_mapped());
                drop(state);
                if begins_mapped {
                    // Bytes of the arena have an owner, so that a body of them could not tell who else has it.
                    pieces = vec![pieces.concat().into()];
                }
                Some(Body::kept(pieces, length))
            }
            Keeping::Backed(_) => self.whole.take().map(Body::from),
            Keeping::Left(_) | Keeping::Nowhere => None,
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let state: &mut FillState = &mut self.fill.lock();
        state.give_room_back();
        if !self.ended {
            state.end.get_or_insert(End::Failed(Broken::Left));
            state.readers.wake();
        }
    }
}
