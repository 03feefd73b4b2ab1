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
    /// The writer, where it waits for room in `pieces` or for the end.
    waiting: Option<Waker>,
}

impl Tail {
    /// Nothing yet, of a file that will have so many bytes.
    pub fn new(announced: Option<u64>) -> Self {
        Self {
            announced,
            ..Self::default()
        }
    }

    /// Has the writer woken when something changes.
    pub fn wait(&mut self, context: &Context<'_>) {
        self.waiting = Some(context.waker().clone());
    }
}

pub(super) fn wake(mut tail: MutexGuard<'_, Tail>) {
    let waiting = tail.waiting.take();
    drop(tail);
    if let Some(writer) = waiting {
        writer.wake();
    }
}
