//! The bytes to and from a server, over TCP or a Unix socket, plain or TLS, as one type.

mod driven;
mod listens;

pub(crate) use driven::{Driven, Ear};

use listens::Listens;
use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};
use std::{
    future::poll_fn,
    io,
    os::fd::{AsFd, BorrowedFd},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
    task::unconstrained,
};
use tokio_rustls::client::TlsStream;

/// A socket as the kernel provides it.
#[derive(Debug)]
pub(crate) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Wire {
    fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// Whether the kernel has nothing to be read from `socket`, not even its end.
fn is_empty(socket: BorrowedFd<'_>) -> bool {
    let looked = recv(socket, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    looked.is_err_and(|cause| cause == Errno::WOULDBLOCK)
}

/// Calls `$call` on the socket of any variant.
macro_rules! on {
    ($self:expr, $type:ident :: { $($variant:ident),+ }, $socket:ident => $call:expr) => {
        match $self.get_mut() {
            $($type::$variant($socket) => $call,)+
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on!(self, Wire::{Tcp, Unix}, socket => Pin::new(socket).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on!(self, Wire::{Tcp, Unix}, socket => Pin::new(socket).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on!(self, Wire::{Tcp, Unix}, socket => Pin::new(socket).poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, Wire::{Tcp, Unix}, socket => Pin::new(socket).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, Wire::{Tcp, Unix}, socket => Pin::new(socket).poll_shutdown(cx))
    }
}

/// A socket with or without TLS.
#[derive(Debug)]
pub(crate) enum Secured {
    Plain(Wire),
    Tls(Box<TlsStream<Wire>>),
}

/// A connection's bytes, counted as they arrive, and how often some went out.
#[derive(Debug)]
pub(crate) struct Stream {
    inner: Secured,
    heard: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
    listens: Listens,
}

impl Stream {
    pub(crate) fn new(inner: Secured) -> Self {
        Self {
            inner,
            heard: Arc::default(),
            written: Arc::default(),
            listens: Listens::No,
        }
    }

    /// Makes writing wait until the server has been read to its end, for an engine that reads while it writes and gives
    /// up once it cannot write. What a server said before it closed is then read.
    pub(crate) fn listen_on(&mut self) {
        self.listens = Listens::Yes;
    }

    /// Returns how many bytes the server has sent so far.
    pub(crate) fn heard_so_far(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// Whether nothing has come and the server has not closed it, as far as the runtime has looked. TLS's own records
    /// do not count.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let read = match &mut self.inner {
            Secured::Plain(Wire::Tcp(socket)) => socket.try_read(&mut byte),
            Secured::Plain(Wire::Unix(socket)) => socket.try_read(&mut byte),
            Secured::Tls(session) => {
                let mut byte = ReadBuf::new(&mut byte);
                let mut cx = Context::from_waker(Waker::noop());
                let read = poll_fn(|cx| Pin::new(&mut *session).poll_read(cx, &mut byte));
                // `unconstrained`, so that a task that has already read much learns the truth.
                return pin!(unconstrained(read)).poll(&mut cx).is_pending();
            }
        };
        read.is_err_and(|cause| cause.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the kernel has nothing to be read, not even the end.
    fn is_empty(&self) -> bool {
        is_empty(self.wire().socket())
    }

    /// Like [`is_quiet`](Self::is_quiet), but also asks the kernel, so that what has come since the runtime last looked
    /// is seen. Costs a call.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.is_quiet() && self.is_empty()
    }

    /// Writes what the kernel takes without waiting, on a plain connection only. For last words: it does not matter
    /// whether they arrive.
    pub(crate) fn last_words(&self, bytes: &[u8]) {
        let _ = match &self.inner {
            Secured::Plain(Wire::Tcp(socket)) => socket.try_write(bytes),
            Secured::Plain(Wire::Unix(socket)) => socket.try_write(bytes),
            Secured::Tls(_) => return,
        };
    }

    fn wire(&self) -> &Wire {
        match &self.inner {
            Secured::Plain(wire) => wire,
            Secured::Tls(session) => session.get_ref().0,
        }
    }

    /// Returns the counter of bytes that the server has sent. It continues after the stream moved to its driver.
    pub(crate) fn heard(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.heard)
    }

    /// Returns the counter of how often it was written to, which continues likewise.
    pub(crate) fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Counts what came of writing. If TLS fails, some may be out.
    fn count(&self, outcome: &Poll<io::Result<usize>>) {
        if !matches!(outcome, Poll::Pending | Poll::Ready(Ok(0))) {
            // There is no other writer.
            self.written.store(self.written.load(Relaxed) + 1, Relaxed);
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let inner = Pin::new(&mut this.inner);
        let done =
            on!(inner, Secured::{Plain, Tls}, socket => Pin::new(socket).poll_read(cx, buffer));
        let read = buffer.filled().len() - before;
        let ends = match &done {
            Poll::Ready(Ok(())) => read == 0 && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ends {
            this.listens.ended();
        }
        if read > 0 {
            // There is no other writer.
            let before = this.heard.load(Relaxed);
            this.heard.store(before + read as u64, Relaxed);
        }
        done
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let inner = Pin::new(&mut this.inner);
        let written =
            on!(inner, Secured::{Plain, Tls}, socket => Pin::new(socket).poll_write(cx, bytes));
        this.count(&written);
        this.listens.written(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let inner = Pin::new(&mut this.inner);
        let written = on!(inner, Secured::{Plain, Tls}, socket => Pin::new(socket).poll_write_vectored(cx, slices));
        this.count(&written);
        this.listens.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let inner = Pin::new(&mut this.inner);
        let flushed = on!(inner, Secured::{Plain, Tls}, socket => Pin::new(socket).poll_flush(cx));
        this.listens.written(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = Pin::new(&mut self.get_mut().inner);
        on!(inner, Secured::{Plain, Tls}, socket => Pin::new(socket).poll_shutdown(cx))
    }
}
