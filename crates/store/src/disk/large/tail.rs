//! What of a large body is still to be written.

use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::MutexGuard,
    task::{Context, Waker},
};

/// What is still to be written.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub pieces: VecDeque<Bytes>,
    pub bytes: usize,
    /// No more pieces come: what is left is the last chunk.
    pub is_last: bool,
    /// A thread writes.
    pub is_busy: bool,
    /// Bytes of the file there is room for.
    pub room: u64,
    /// Bytes the file will have, as far as the origin tells the truth.
    pub announced: Option<u64>,
    /// Those who wait for room in `pieces`, or for bytes to be readable.
    wakers: Vec<Waker>,
}

impl Tail {
    /// Nothing yet, of a file that will have so many bytes.
    pub fn new(announced: Option<u64>) -> Self {
        Self {
            announced,
            ..Self::default()
        }
    }

    /// Has the task woken when something changes; one that asks again and again is noted once.
    pub fn wait(&mut self, context: &Context<'_>) {
        let waker = context.waker();
        if !self.wakers.iter().any(|noted| noted.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }
}

pub(super) fn wake(mut tail: MutexGuard<'_, Tail>) {
    let wakers = std::mem::take(&mut tail.wakers);
    drop(tail);
    wakers.into_iter().for_each(Waker::wake);
}
