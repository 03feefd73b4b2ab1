//! A connection of the admin API, which ends when another takes its slot.

use super::ConnectionSlot;
use std::{
    io::{self, ErrorKind},
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::oneshot,
};

/// A connection that has a slot. Once another has taken that, reads end as if the client had ended it, and writes fail:
/// what waits for a write need not read.
#[derive(Debug)]
pub(in crate::admin) struct Connection {
    stream: TcpStream,
    gone: oneshot::Receiver<()>,
    slot: ConnectionSlot,
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        gone: oneshot::Receiver<()>,
        slot: ConnectionSlot,
    ) -> Self {
        Self { stream, gone, slot }
    }

    pub(super) fn slot(&self) -> &ConnectionSlot {
        &self.slot
    }

    /// Whether another has taken its slot. If not, its task is woken when that happens.
    fn is_gone(&mut self, cx: &mut Context<'_>) -> bool {
        self.gone.is_terminated() || Pin::new(&mut self.gone).poll(cx).is_ready()
    }

    /// Writes with `write`.
    fn poll_send(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.is_gone(cx) {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        let written = write(Pin::new(&mut self.stream), cx);
        if written.is_ready() {
            self.slot.moves();
        }
        written
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.slot.give_back();
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_gone(cx) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(cx, |stream, cx| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes when it has written all there is.
        self.slot.sent();
        if self.is_gone(cx) {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
