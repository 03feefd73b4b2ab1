//! A stream that hyper drives, while its owner can still ask whether anything has come on its socket.

use super::Stream;
use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// hyper's side. Both sides belong to one worker, so that nobody waits for the lock.
#[derive(Debug)]
pub(crate) struct Driven(Arc<Mutex<Stream>>);

/// The owner's side. It does not keep the socket open.
#[derive(Debug)]
pub(crate) struct Ear(Weak<Mutex<Stream>>);

impl Driven {
    pub(crate) fn new(stream: Stream) -> (Self, Ear) {
        let stream = Arc::new(Mutex::new(stream));
        let ear = Ear(Arc::downgrade(&stream));
        (Self(stream), ear)
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ear {
    /// Whether the stream still exists and the kernel has nothing unread, not even the end.
    pub(crate) fn hears_nothing(&self) -> bool {
        let stream = self.0.upgrade();
        stream.is_some_and(|stream| {
            let stream = stream.lock();
            stream.unwrap_or_else(PoisonError::into_inner).is_empty()
        })
    }
}

impl AsyncRead for Driven {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(cx, buffer)
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
