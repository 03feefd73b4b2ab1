//! A stream that hyper drives, while its owner can still ask whether anything has come on its socket.

use super::Stream;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// hyper's side. Both sides belong to one worker, so that nobody waits for the lock.
#[derive(Debug)]
pub(crate) struct Driven {
    stream: Arc<Mutex<Stream>>,
    is_http2: Arc<AtomicBool>,
}

/// The owner's side. It does not keep the socket open.
#[derive(Debug)]
pub(crate) struct Ear {
    stream: Weak<Mutex<Stream>>,
    is_http2: Arc<AtomicBool>,
}

impl Driven {
    pub(crate) fn new(stream: Stream) -> (Self, Ear) {
        let stream = Arc::new(Mutex::new(stream));
        let is_http2 = Arc::<AtomicBool>::default();
        let ear = Ear {
            stream: Arc::downgrade(&stream),
            is_http2: Arc::clone(&is_http2),
        };
        (Self { stream, is_http2 }, ear)
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server that begins so speaks HTTP/2: its first frame is `SETTINGS` (RFC 9113 section 3.4). HTTP/1 begins with
/// a letter.
fn begins_http2(bytes: &[u8]) -> bool {
    matches!(bytes, [0, _, _, 4, ..])
}

impl Ear {
    /// Whether the stream still exists and the kernel has nothing unread, not even the end.
    pub(crate) fn hears_nothing(&self) -> bool {
        let stream = self.stream.upgrade();
        stream.is_some_and(|stream| {
            let stream = stream.lock();
            stream.unwrap_or_else(PoisonError::into_inner).is_empty()
        })
    }

    /// Whether the server has begun to speak HTTP/2.
    pub(crate) fn hears_http2(&self) -> bool {
        self.is_http2.load(Relaxed)
    }
}

impl AsyncRead for Driven {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = self.lock();
        let is_first = stream.heard_so_far() == 0;
        let before = buffer.filled().len();
        let read = Pin::new(&mut *stream).poll_read(cx, buffer);
        if is_first && begins_http2(buffer.filled().get(before..).unwrap_or_default()) {
            self.is_http2.store(true, Relaxed);
        }
        read
    }
}

impl AsyncWrite for Driven {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.lock().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(cx)
    }
}
