//! Transit: content on its way to a client that is not in the store. It counts in the budget until the socket has it.

use bytes::Bytes;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};
use store::{Memory, Reservation};

/// What each answer may have on its way however short memory is, in bytes: two little pieces, so that one can be read
/// while the other is sent.
const FLOOR: u64 = 2 * origin::LITTLE as u64;

/// The transit of one answer. If memory is short, its content is read a little at a time, and no further than its
/// client takes it.
#[derive(Debug)]
pub struct Transit {
    memory: Arc<Memory>,
    state: Arc<Mutex<TransitState>>,
    /// How much of it may wait unread, as last told.
    unread: u64,
}

/// What one answer holds, including the pieces that were handed on.
#[derive(Debug)]
struct TransitState {
    reservation: Reservation,
    /// Taken as long as more may come.
    floor: u64,
    /// What may have come of it without being read.
    unread: u64,
    /// Bytes that were handed on and are not sent.
    out: u64,
    waiting: Option<Waker>,
}

/// A piece that was handed on; dropped when it is sent.
struct Counted {
    piece: Bytes,
    state: Arc<Mutex<TransitState>>,
}

/// A whole answer; dropped when it is sent.
struct Whole {
    content: Bytes,
    /// Held for its drop.
    _reservation: Reservation,
}

/// Counts an answer that has come `whole` until it is dropped.
pub fn counted(whole: Bytes, memory: &Memory) -> Bytes {
    if whole.is_empty() {
        return whole;
    }
    let mut reservation = memory.budget().reservation();
    reservation.hold(whole.len() as u64);
    memory.make_room();
    Bytes::from_owner(Whole {
        content: whole,
        _reservation: reservation,
    })
}

impl AsRef<[u8]> for Whole {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl Transit {
    /// The transit of an answer of `length` bytes, if that is known, of which `unread` bytes may wait unread.
    pub fn new(memory: &Arc<Memory>, length: Option<u64>, unread: u64) -> Self {
        let mut state = TransitState {
            reservation: memory.budget().reservation(),
            floor: length.map_or(FLOOR, |length| length.min(FLOOR)),
            unread,
            out: 0,
            waiting: None,
        };
        state.settle();
        Self {
            memory: memory.clone(),
            state: Arc::new(Mutex::new(state)),
            unread,
        }
    }

    /// Waits until the next piece may be read. Returns whether it should be a little one.
    pub fn poll_turn(&self, context: &mut Context<'_>) -> Poll<bool> {
        if !self.memory.budget().is_short() {
            return Poll::Ready(false);
        }
        let mut state = lock(&self.state);
        if state.out <= FLOOR / 2 {
            return Poll::Ready(true);
        }
        state.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    /// Sets how many bytes of it may wait unread from now on.
    pub fn may_wait(&mut self, unread: u64) {
        if std::mem::replace(&mut self.unread, unread) != unread {
            let mut state = lock(&self.state);
            state.unread = unread;
            state.settle();
        }
    }

    /// Counts `piece` until it is dropped.
    pub fn count(&self, piece: Bytes) -> Bytes {
        if piece.is_empty() {
            return piece;
        }
        let mut state = lock(&self.state);
        state.out += piece.len() as u64;
        state.settle();
        drop(state);
        self.memory.make_room();
        Bytes::from_owner(Counted {
            piece,
            state: self.state.clone(),
        })
    }
}

impl Drop for Transit {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        (state.floor, state.unread) = (0, 0);
        state.settle();
    }
}

impl TransitState {
    fn settle(&mut self) {
        self.reservation
            .hold(self.out.max(self.floor) + self.unread);
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.out -= self.piece.len() as u64;
        state.settle();
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

fn lock(state: &Mutex<TransitState>) -> MutexGuard<'_, TransitState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
