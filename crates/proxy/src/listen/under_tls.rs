//! The wire under TLS. TLS takes what is written into memory of its own: only the wire knows what the client takes.

use super::{
    watch::{Stage, Watch},
    wire::Wire,
};
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A wire that tells the watch when the client takes something.
#[derive(Debug)]
pub(super) struct UnderTls {
    wire: Wire,
    watch: Arc<Watch>,
}

impl UnderTls {
    pub(super) fn new(wire: Wire, watch: Arc<Watch>) -> Self {
        Self { wire, watch }
    }

    pub(super) fn end(&mut self) {
        self.wire.end();
    }

    pub(super) fn reset_at_close(&self) {
        self.wire.reset_at_close();
    }

    pub(super) fn is_of_a_tunnel(&self) -> bool {
        self.watch.stage() == Stage::Tunnel
    }

    fn told(&self, taken: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(taken, Poll::Ready(Ok(1..))) {
            self.watch.took();
        }
        taken
    }
}

impl AsyncRead for UnderTls {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_read(cx, buf)
    }
}

impl AsyncWrite for UnderTls {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let under = self.get_mut();
        let taken = Pin::new(&mut under.wire).poll_write(cx, buf);
        under.told(taken)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let under = self.get_mut();
        let taken = Pin::new(&mut under.wire).poll_write_vectored(cx, bufs);
        under.told(taken)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
    }
}
