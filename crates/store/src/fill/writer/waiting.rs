//! What the writer waits for before its next piece: the device of a backed fill, the slowest reader of a spilled one.

use super::{Keeping, Writer};
use std::{
    task::{Context, Poll, ready},
    time::Duration,
};

impl Writer {
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
            Keeping::Nowhere => {
                state.held.received().saturating_sub(state.slowest()) <= state.window()
            }
        };
        if has_room {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Hands all pieces over to the backing. False if that fails, and the fill is spilled.
    pub(super) fn poll_hand_over(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        while let Some(backing) = &mut self.backing {
            let state = self.fill.lock();
            let (piece, is_short) = (state.held.piece(self.handed), state.is_short());
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
    pub(super) fn settle(&self) {
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
    /// [abandoned](crate::fill::Fill::poll_abandoned).
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
}
