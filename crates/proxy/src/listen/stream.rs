//! The bytes below HTTP, with or without TLS.

use super::{under_tls::UnderTls, wire::Wire};
use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

/// The stream below HTTP.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Wire),
    Tls(Box<TlsStream<UnderTls>>),
}

impl Stream {
    /// Says that all that is still to be written is available, and that the end of the connection follows it. The last
    /// bytes wait for that end, which saves a packet, and saves a client that reads them one turn.
    pub(super) fn end(&mut self) {
        match self {
            Self::Plain(wire) => wire.end(),
            Self::Tls(tls) => tls.get_mut().0.end(),
        }
    }

    /// Makes a TCP connection be reset when it is closed, so that the client does not take the close for the end of the
    /// answer.
    pub(super) fn reset_at_close(&self) {
        match self {
            Self::Plain(wire) => wire.reset_at_close(),
            Self::Tls(tls) => tls.get_ref().0.reset_at_close(),
        }
    }
}

/// Ready when TLS may take more. In a tunnel, that is when the client has taken what came before: who writes there
/// measures how long a client takes nothing, and must not be told that all is well.
fn poll_turn(tls: &mut TlsStream<UnderTls>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    if tls.get_ref().0.is_of_a_tunnel() {
        return Pin::new(tls).poll_flush(cx);
    }
    Poll::Ready(Ok(()))
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_write(cx, buf),
            Self::Tls(tls) => {
                ready!(poll_turn(tls, cx))?;
                Pin::new(tls.as_mut()).poll_write(cx, buf)
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => {
                ready!(poll_turn(tls, cx))?;
                Pin::new(tls.as_mut()).poll_write_vectored(cx, bufs)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(wire) => wire.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(wire) => Pin::new(wire).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
        }
    }
}
