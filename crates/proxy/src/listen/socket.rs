//! An accepted socket: TCP or Unix.
//!
//! It makes system calls without libc. libc makes each call a point where its thread may be cancelled, at the cost of
//! two locked instructions, and no thread is cancelled here.

use origin::descriptors;
use rustix::net::{
    self, RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg,
    sockopt::{set_socket_linger, set_tcp_cork},
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
    /// Whether it has none of the last descriptors, which clients leave to others.
    pub(super) fn is_granted(&self) -> bool {
        match self {
            Self::Tcp(socket) => descriptors::is_granted_to_client(socket),
            Self::Unix(socket) => descriptors::is_granted_to_client(socket),
        }
    }

    /// Makes the socket send only full packets, until it is uncorked.
    pub(super) fn cork(&self, corked: bool) {
        if let Self::Tcp(socket) = self {
            // On failure, more packets are sent.
            let _ = set_tcp_cork(socket, corked);
        }
    }

    /// Makes a TCP connection be reset when it is closed.
    pub(super) fn reset_at_close(&self) {
        if let Self::Tcp(socket) = self {
            // On failure, the connection is closed.
            let _ = set_socket_linger(socket, Some(Duration::ZERO));
        }
    }

    /// Writes what the socket takes of `text` without waiting. Not through the runtime, which may not have learnt yet
    /// that the socket is writable. Nothing depends on whether the text arrives.
    pub(super) fn say_at_once(&self, text: &[u8]) {
        let socket = match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        };
        let _ = net::send(socket, text, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Makes `send` write to the socket once the socket takes bytes.
    pub(super) fn poll_send(
        &self,
        cx: &mut Context<'_>,
        send: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Interest::WRITABLE, 0, send)
    }

    /// Writes `bufs`, as far as the socket takes them.
    pub(super) fn poll_send_all(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        flags: SendFlags,
    ) -> Poll<io::Result<usize>> {
        let whole = bufs.iter().map(|buf| buf.len()).sum();
        self.poll_io(cx, Interest::WRITABLE, whole, |socket| {
            send(socket, bufs, flags)
        })
    }

    /// Makes `io` read or write once the socket is ready for it. If `io` does less than `whole`, the socket is not
    /// ready any more, and no further call is made to find that out.
    fn poll_io(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        whole: usize,
        mut io: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut part = None;
            let mut tried = |socket: BorrowedFd<'_>| {
                let done = io(socket)?;
                if 0 < done && done < whole {
                    part = Some(done);
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(done)
            };
            ready!(self.poll_ready(cx, interest))?;
            let done = match self {
                Self::Tcp(socket) => socket.try_io(interest, || tried(socket.as_fd())),
                Self::Unix(socket) => socket.try_io(interest, || tried(socket.as_fd())),
            };
            match (done, part) {
                (_, Some(done)) => return Poll::Ready(Ok(done)),
                (Err(error), None) if error.kind() == io::ErrorKind::WouldBlock => {}
                (done, None) => return Poll::Ready(done),
            }
        }
    }

    fn poll_ready(&self, cx: &mut Context<'_>, interest: Interest) -> Poll<io::Result<()>> {
        match (self, interest.is_readable()) {
            (Self::Tcp(socket), true) => socket.poll_read_ready(cx),
            (Self::Tcp(socket), false) => socket.poll_write_ready(cx),
            (Self::Unix(socket), true) => socket.poll_read_ready(cx),
            (Self::Unix(socket), false) => socket.poll_write_ready(cx),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.initialized().len() < buf.capacity() {
            // It would have to be initialized first.
            return match self.get_mut() {
                Self::Tcp(socket) => Pin::new(socket).poll_read(cx, buf),
                Self::Unix(socket) => Pin::new(socket).poll_read(cx, buf),
            };
        }
        let room = buf.initialize_unfilled();
        let read = self.poll_io(cx, Interest::READABLE, room.len(), |socket| {
            let (read, _) = recv(socket, &mut *room, RecvFlags::empty())?;
            Ok(read)
        });
        buf.advance(ready!(read)?);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send_all(cx, &[IoSlice::new(buf)], SendFlags::empty())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send_all(cx, bufs, SendFlags::empty())
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

/// Writes to the socket, as far as it takes bytes. One buffer costs less than several.
#[inline]
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bufs: &[IoSlice<'_>],
    flags: SendFlags,
) -> io::Result<usize> {
    let flags = flags | SendFlags::NOSIGNAL;
    Ok(match bufs {
        [only] => net::send(socket, only, flags)?,
        bufs => sendmsg(socket, bufs, &mut SendAncillaryBuffer::default(), flags)?,
    })
}
