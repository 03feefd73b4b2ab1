//! Writes large bodies as they arrive.

use super::Large;
use crate::disk::{Failed, OnDisk, format::CHUNK};
use bytes::Bytes;
use std::{
    sync::Arc,
    task::{Context, Poll},
};

/// At most this many bytes wait to be written, besides the piece that was pushed last. While memory is short, no more
/// than a chunk.
const MOST_WAITING: usize = 1 << 20;

/// Writes a large body as it arrives. If it is dropped before it is [finished](Self::poll_finish), its file is removed.
#[derive(Debug)]
pub struct Writer {
    large: Arc<Large>,
    pushed: u64,
    most: u64,
    is_finished: bool,
}

impl Writer {
    pub(in crate::disk) fn new(large: Arc<Large>, most: u64) -> Self {
        Self {
            large,
            pushed: 0,
            most,
            is_finished: false,
        }
    }

    /// Queues a piece. Ready when it is queued. An error ends the file. `is_short`: as little as possible should wait.
    pub fn poll_push(
        &mut self,
        piece: &Bytes,
        is_short: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failed>> {
        if self.large.is_failed() || self.pushed + piece.len() as u64 > self.most {
            return Poll::Ready(Err(Failed));
        }
        // To be woken for each chunk costs about as much as writing it. While memory is short, whoever waits lets go of
        // what is written.
        let (most, left) = if is_short {
            (CHUNK, usize::MAX)
        } else {
            (MOST_WAITING, MOST_WAITING / 2)
        };
        let mut tail = self.large.tail();
        if tail.bytes >= most {
            tail.wait(left, context);
            return Poll::Pending;
        }
        self.large.device.bucket.spend(piece.len() as u64);
        if !piece.is_empty() {
            tail.bytes += piece.len();
            tail.pieces.push_back(piece.clone());
            self.pushed += piece.len() as u64;
        }
        let starts = !tail.is_busy && tail.bytes >= CHUNK;
        tail.is_busy |= starts;
        drop(tail);
        if starts && !self.large.clone().write_soon() {
            return Poll::Ready(Err(Failed));
        }
        Poll::Ready(Ok(()))
    }

    /// The whole chunks that have been written so far and can be read back.
    pub fn written(&self) -> OnDisk {
        OnDisk::large(self.large.clone(), self.large.readable())
    }

    /// Ends the body. Ready with the complete body when all of it is written. An error if the device failed, or nothing
    /// was pushed.
    pub fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<OnDisk, Failed>> {
        if self.pushed == 0 {
            return Poll::Ready(Err(Failed));
        }
        let mut tail = self.large.tail();
        if self.large.is_whole() {
            self.is_finished = true;
            return Poll::Ready(Ok(OnDisk::large(self.large.clone(), self.pushed)));
        }
        if self.large.is_failed() {
            return Poll::Ready(Err(Failed));
        }
        let starts = !tail.is_last && !tail.is_busy;
        tail.is_last = true;
        tail.is_busy |= starts;
        tail.wait(usize::MAX, context);
        drop(tail);
        if starts && !self.large.clone().write_soon() {
            return Poll::Ready(Err(Failed));
        }
        Poll::Pending
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_finished {
            self.large.fail();
        }
    }
}
