//! The part of a large body that is still to be written.

use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::MutexGuard,
    task::{Context, Waker},
};

/// The part that is still to be written.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub pieces: VecDeque<Bytes>,
    pub bytes: usize,
    /// Whether no more pieces come, so that the rest ends with the last chunk.
    pub is_last: bool,
    /// Whether a thread is writing.
    pub is_busy: bool,
    /// Bytes of the file that there is room for.
    pub room: u64,
    /// Bytes that the file will have, if the origin tells the truth.
    pub announced: Option<u64>,
    /// The writer, if it waits for room in `pieces` or for the end, and with how many bytes left it is woken.
    waiting: Option<(Waker, usize)>,
}

impl Tail {
    /// Creates an empty tail, for a file that will have `announced` bytes.
    pub fn new(announced: Option<u64>) -> Self {
        Self {
            announced,
            ..Self::default()
        }
    }

    /// Has the writer woken at the next change that leaves at most this many bytes to be written.
    pub fn wait(&mut self, left: usize, context: &Context<'_>) {
        self.waiting = Some((context.waker().clone(), left));
    }
}

/// Wakes the writer, unless it waits for less to be left.
pub(super) fn wake(mut tail: MutexGuard<'_, Tail>) {
    let bytes = tail.bytes;
    let waiting = tail.waiting.take_if(|(_, left)| bytes <= *left);
    drop(tail);
    if let Some((writer, _)) = waiting {
        writer.wake();
    }
}
