//! Content that goes from a file to a socket without passing through our memory.
//!
//! `hyper` sends what it is given as bytes. So it is given bytes that stand for others: slices of one buffer that is
//! never read or written, each as long as the span of a file for which it stands. The spans wait in [`Splices`], in the
//! same order. When the slices come out at the other end ([`Wire`](super::wire::Wire)), they are known by their
//! address, and the kernel is told to send the span instead.
//!
//! This works as long as no code in between looks into the bytes: on plain connections with HTTP/1, where `hyper`
//! queues bodies for a vectored write. If slices and spans do not agree, the connection is closed.

use bytes::Bytes;
use std::{
    collections::VecDeque,
    io,
    os::fd::AsFd,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use store::disk::{FileSpan, MOST_SPAN};

/// The buffer of which the bytes are slices. It takes address space and no memory: its pages are never touched.
static STAND_IN: [u8; MOST_SPAN as usize] = [0; MOST_SPAN as usize];

/// The spans of files that one connection has still to send.
#[derive(Debug, Default)]
pub struct Splices {
    spans: Mutex<VecDeque<FileSpan>>,
    /// Whether there are spans. On the path of a hit nothing else is looked at.
    waiting: AtomicBool,
}

impl Splices {
    /// Returns bytes that stand for `span`, which must be given to `hyper` next; `None` if it is longer than
    /// [`MOST_SPAN`].
    pub fn stand_in(&self, span: FileSpan) -> Option<Bytes> {
        let bytes = STAND_IN.get(..usize::try_from(span.len()).ok()?)?;
        self.spans().push_back(span);
        self.waiting.store(true, Relaxed);
        Some(Bytes::from_static(bytes))
    }

    /// Whether `slice` stands for bytes of a file.
    pub(super) fn is_stand_in(slice: &[u8]) -> bool {
        STAND_IN.as_ptr_range().contains(&slice.as_ptr()) && !slice.is_empty()
    }

    /// Whether all spans were sent.
    pub(super) fn is_empty(&self) -> bool {
        !self.waiting.load(Relaxed)
    }

    /// Waits until the next span can be sent without waiting for the disk.
    ///
    /// # Errors
    /// As [`FileSpan::poll_at_hand`].
    pub(super) fn poll_at_hand(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.spans().front_mut() {
            Some(span) => span.poll_at_hand(context),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Sends what `slice` stands for, as far as `socket` takes it, and returns how many bytes that was.
    ///
    /// # Errors
    /// As [`FileSpan::send_to`]; `InvalidData` if the slice is not the rest of the next span.
    pub(super) fn send(&self, slice: &[u8], socket: impl AsFd) -> io::Result<usize> {
        let mut spans = self.spans();
        let next = spans
            .front_mut()
            .filter(|span| span.len() == slice.len() as u64);
        let span = next.ok_or(io::ErrorKind::InvalidData)?;
        let sent = loop {
            match span.send_to(&socket) {
                // A signal came before the first byte.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => break sent?,
            }
        };
        if span.is_empty() {
            spans.pop_front();
            self.waiting.store(!spans.is_empty(), Relaxed);
        }
        Ok(sent)
    }

    /// Never contended: one task polls the bodies and the socket.
    fn spans(&self) -> MutexGuard<'_, VecDeque<FileSpan>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
