//! An accepted socket: TCP or Unix.

use rustix::net::{
    SendAncillaryBuffer, SendFlags, sendmsg, sockopt::set_socket_linger, sockopt::set_tcp_cork,
};
use std::{
    io::{self, IoSlice},
    os::fd::{AsFd, BorrowedFd},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// An accepted socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Has the socket send full packets only, until nothing is held back any more.
    pub(super) fn cork(&self, corked: bool) {
        if let Self::Tcp(socket) = self {
            // Without it, more packets are sent.
            let _ = set_tcp_cork(socket, corked);
        }
    }

    /// Has a TCP connection be reset where it is closed.
    pub(super) fn reset_at_close(&self) {
        if let Self::Tcp(socket) = self {
            // Without it, the connection is closed.
            let _ = set_socket_linger(socket, Some(Duration::ZERO));
        }
    }

    /// Has `send` write to the socket once that takes bytes.
    pub(super) fn poll_send(
        &self,
        cx: &mut Context<'_>,
        mut send: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let tried = match self {
                Self::Tcp(socket) => {
                    ready!(socket.poll_write_ready(cx))?;
                    socket.try_io(Interest::WRITABLE, || send(socket.as_fd()))
                }
                Self::Unix(socket) => {
                    ready!(socket.poll_write_ready(cx))?;
                    socket.try_io(Interest::WRITABLE, || send(socket.as_fd()))
                }
            };
            match tried {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other),
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Unix(socket) => Pin::new(socket).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Unix(socket) => Pin::new(socket).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
            Self::Unix(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Sockets hold nothing back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Unix(socket) => Pin::new(socket).poll_shutdown(cx),
        }
    }
}

/// Writes to the socket, as far as it takes bytes.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bufs: &[IoSlice<'_>],
    flags: SendFlags,
) -> io::Result<usize> {
    let mut none = SendAncillaryBuffer::default();
    Ok(sendmsg(
        socket,
        bufs,
        &mut none,
        flags | SendFlags::NOSIGNAL,
    )?)
}
