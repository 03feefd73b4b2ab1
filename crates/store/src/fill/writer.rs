//! The writer of a fill.

use super::{Backing, Broken, Deserted, End, Fill, FillState, Keeping, Overflow};
use crate::{Body, BodyPiece};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

/// Writes a fill. If it is dropped without [`finish`](Self::finish), the fill has failed.
#[derive(Debug)]
pub struct Writer {
    fill: Arc<Fill>,
    overflow: Option<Arc<dyn Overflow>>,
    backing: Option<Box<dyn Backing>>,
    /// Bytes handed over to the backing.
    handed: u64,
    /// The whole body, as the backing has written it.
    whole: Option<BodyPiece>,
    ended: bool,
}

/// What became of a pushed piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Kept for the store, in memory or on disk.
    Kept,
    /// Not kept: the fill is spilled, and the piece goes to the present readers.
    Spilled,
    /// The same, only because memory had no room at this moment for what would have waited for the device.
    Short,
}

impl Writer {
    pub(super) fn new(fill: Arc<Fill>) -> Self {
        Self {
            fill,
            overflow: None,
            backing: None,
            handed: 0,
            whole: None,
            ended: false,
        }
    }

    /// The fill that it writes.
    pub fn fill(&self) -> &Arc<Fill> {
        &self.fill
    }

    /// Notes the length that the head announces, if any.
    pub fn announce(&mut self, length: Option<u64>) {
        self.fill.lock().length = length;
    }

    /// Notes that the source also sends parts of the body without the rest.
    pub fn announce_ranges(&mut self) {
        self.fill.lock().has_ranges = true;
    }

    /// Notes that the body only serves readers, because something else is to be stored. The fill does not go on when
    /// all readers have left.
    pub fn serve_readers(&mut self) {
        self.fill.lock().deserted = Deserted::AlwaysEnds;
    }

    /// Takes it back that the fill is to [go on](super::Interest::keep) although nobody reads it: it is abandoned when
    /// nobody is interested, unless somebody keeps it again.
    pub fn let_go(&self) {
        self.fill.lock().let_go();
    }

    /// Sets where the body goes if it outgrows memory.
    pub fn overflow_to(&mut self, overflow: Arc<dyn Overflow>) {
        self.overflow = Some(overflow);
    }

    /// Appends a copy of `piece` in an allocation of its own: what arrives from a connection is often a slice of a much
    /// larger buffer. If the budget is exhausted, the fill [overflows](Self::overflow). One that is backed already is
    /// spilled, unless it helps to hold less of it.
    pub fn push(&mut self, piece: &[u8]) -> Pushed {
        if piece.is_empty() {
            return self.pushed();
        }
        // Copied without the lock, so that readers need not wait.
        let copy = Bytes::copy_from_slice(piece);
        let mut state = self.fill.lock();
        let spilled = state.is_spilled();
        let fits = state.take_room(piece.len() as u64);
        state.append(copy);
        state.readers.wake();
        drop(state);
        match (spilled, fits) {
            (true, _) => Pushed::Spilled,
            (false, true) => Pushed::Kept,
            (false, false) if self.backing.is_some() => self.hold_little(),
            (false, false) => self.overflow(),
        }
    }

    /// Stops keeping the body in memory: it is backed from now on if possible, and spilled otherwise, also if memory has
    /// no room for what would wait for the device. May be called at any time, also before the first byte. A second call
    /// changes nothing.
    pub fn overflow(&mut self) -> Pushed {
        if !matches!(self.fill.lock().keeping, Keeping::Memory) {
            return self.pushed();
        }
        let length = self.fill.length();
        let overflow = self.overflow.as_ref();
        let Some(backing) = overflow.and_then(|overflow| overflow.begin(length)) else {
            self.spill();
            return Pushed::Spilled;
        };
        if !self.fill.lock().take_room_ahead() {
            self.spill();
            return Pushed::Short;
        }
        self.backing = Some(backing);
        self.settle();
        Pushed::Kept
    }

    /// Holds as little as a backed fill can. It is spilled if there is no room for that.
    fn hold_little(&mut self) -> Pushed {
        self.settle();
        if self.fill.lock().reservation.budget().is_exceeded() {
            self.spill();
        }
        self.pushed()
    }

    fn pushed(&self) -> Pushed {
        if self.is_spilled() {
            Pushed::Spilled
        } else {
            Pushed::Kept
        }
    }

    /// Stops keeping the body: it will not be stored. Present readers go on, also with what is only on disk. Nobody
    /// else may join.
    pub fn spill(&mut self) {
        if self.is_spilled() {
            return;
        }
        // Takes account of what the device has written since.
        self.settle();
        self.backing = None;
        self.fill.lock().spill();
    }

    /// Whether it is spilled. A backed fill may become spilled whenever [`poll_room`](Self::poll_room) is ready.
    pub fn is_spilled(&self) -> bool {
        self.fill.lock().is_spilled()
    }

    /// Whether no more than necessary should be read for it at once: it is backed or spilled, and memory is short.
    pub fn is_short(&self) -> bool {
        let state = self.fill.lock();
        !matches!(state.keeping, Keeping::Memory) && state.is_short()
    }

    /// Ready when the next piece may be pushed. A fill that is kept in memory is ready at once. A backed one is ready
    /// when the device has taken all pieces. Otherwise the slowest reader must have come near: it finds the rest in
    /// memory, and is not further behind than the window.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.backing.is_some() && ready!(self.poll_hand_over(context)) {
            return Poll::Ready(());
        }
        let mut state = self.fill.lock();
        let has_room = match state.keeping {
            Keeping::Memory | Keeping::Backed(_) => true,
            Keeping::Left(_) => false,
            Keeping::Nowhere => state.received.saturating_sub(state.slowest()) <= state.window(),
        };
        if has_room {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Hands all pieces over to the backing. False if that fails, and the fill is spilled.
    fn poll_hand_over(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        while let Some(backing) = &mut self.backing {
            let state = self.fill.lock();
            let (piece, is_short) = (state.piece(self.handed), state.is_short());
            drop(state);
            let Some(piece) = piece else {
                self.settle();
                return Poll::Ready(true);
            };
            match backing.poll_push(&piece, is_short, context) {
                Poll::Ready(Ok(())) => self.handed += piece.len() as u64,
                Poll::Ready(Err(_)) => self.spill(),
                Poll::Pending => {
                    self.settle();
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(false)
    }

    /// Drops from memory what has been written.
    fn settle(&self) {
        let Some(backing) = &self.backing else {
            return;
        };
        let mut state = self.fill.lock();
        state.keeping = Keeping::Backed(backing.written().held());
        state.trim();
    }

    /// Gives up what [`poll_room`](Self::poll_room) has waited for too long: the device of a backed fill, which is
    /// spilled then, or readers of a spilled fill that are not near, if others are.
    pub fn cut_off_slow(&mut self) {
        if self.backing.is_some() {
            self.spill();
            return;
        }
        self.fill.lock().cut_off_slow();
    }

    /// Gives up on all readers of a spilled fill. The fill has failed, and its writer learns that as if it were
    /// [abandoned](Fill::poll_abandoned).
    pub fn give_up(&self) {
        self.fill.lock().give_up();
    }

    /// Notes that a wait for [`poll_room`](Self::poll_room) begins, and for which readers.
    pub fn begin_wait(&self) {
        self.fill.lock().begin_wait();
    }

    /// Notes that [`poll_room`](Self::poll_room) was waited for so long, whether it is ready or not. A reader of a
    /// spilled fill that others have waited for ten seconds in all is cut off, because it goes on at their cost. One
    /// that nobody waits for may be as slow as it likes.
    pub fn waited(&self, time: Duration) {
        self.fill.lock().waited(time);
    }

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
        let mut copied = VecDeque::new();
        if matches!(state.keeping, Keeping::Memory) {
            // The store weighs what it keeps.
            state.reservation.release();
            if let Some(joined) = body.as_ref().and_then(Body::in_one) {
                // Readers that are not done need no copy of their own.
                copied = std::mem::replace(&mut state.pieces, [(0, joined)].into());
            }
        }
        drop(state);
        drop(copied);
        body
    }

    /// What is kept of the body. A body in memory is copied without the lock, so that no reader waits. Nobody else adds
    /// to the fill, or makes it keep less.
    fn kept(&mut self) -> Option<Body> {
        let state = self.fill.lock();
        match &state.keeping {
            Keeping::Memory => {
                let pieces = state.pieces.iter().map(|(_, piece)| piece.clone());
                let (pieces, length) = (pieces.collect(), state.received as usize);
                drop(state);
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
