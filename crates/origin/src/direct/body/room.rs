//! Memory into which large content is read, and which is handed on without a copy.

use crate::stream::Stream;
use bytes::{BufMut, Bytes, BytesMut};
use std::{
    io,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::{Context, Poll, ready},
};
use tokio::io::AsyncReadExt;

/// Bytes that are read at once: at first, and at most.
const LEAST: usize = 32 * 1024;
const MOST: usize = 256 * 1024;

/// The most bytes that all rooms of the process may hold. What was handed on is counted by those who hold it.
const MOST_OF_ALL: usize = 16 << 20;

/// The bytes that all rooms hold.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The room of one content.
#[derive(Debug)]
pub(super) struct Room {
    bytes: BytesMut,
    /// How much of it is in [`HELD`].
    held: usize,
    /// Bytes that the next read takes.
    next: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            bytes: BytesMut::new(),
            held: 0,
            next: LEAST,
        }
    }
}

impl Room {
    /// Takes memory for the next read of content of which `left` bytes are still to come. Returns whether there is
    /// some.
    pub(super) fn reserve(&mut self, left: u64) -> bool {
        let wanted = usize::try_from(left).map_or(self.next, |left| left.min(self.next));
        // What is left over behind the last piece stays with that, and nobody counts it: it is little.
        if self.bytes.capacity() >= (wanted / 8).max(1) {
            return true;
        }
        if HELD.load(Relaxed) + wanted > MOST_OF_ALL {
            return false;
        }
        self.bytes = BytesMut::with_capacity(wanted);
        self.count();
        true
    }

    /// Reads a piece of content of which `left` bytes are still to come. `None` at the end of the connection.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut Stream,
        left: u64,
    ) -> Poll<io::Result<Option<Bytes>>> {
        let capacity = self.bytes.capacity();
        let offered = usize::try_from(left).map_or(capacity, |left| left.min(capacity));
        let mut room = (&mut self.bytes).limit(offered);
        let came = ready!(pin!(stream.read_buf(&mut room)).poll(cx))?;
        // Twice as much if the read was full, less if little came.
        self.next = match came {
            0 => return Poll::Ready(Ok(None)),
            _ if came >= self.next => (2 * came).min(MOST),
            _ if came < offered && came < self.next / 4 => (self.next / 2).max(LEAST),
            _ => self.next,
        };
        let piece = self.bytes.split().freeze();
        self.count();
        Poll::Ready(Ok(Some(piece)))
    }

    fn count(&mut self) {
        let held = self.bytes.capacity();
        if held > self.held {
            HELD.fetch_add(held - self.held, Relaxed);
        } else {
            HELD.fetch_sub(self.held - held, Relaxed);
        }
        self.held = held;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        HELD.fetch_sub(self.held, Relaxed);
    }
}
