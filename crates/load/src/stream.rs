//! A connection's bytes, plain or through TLS, counted at the socket.

use crate::{fault::Fault, site::Origin, tls::Tls};
use hyper::rt;
use std::{
    cell::Cell,
    io,
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::client::TlsStream;

/// Bytes on the wire, of all connections of a worker.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub received: Cell<u64>,
    pub sent: Cell<u64>,
}

/// A socket that counts.
#[derive(Debug)]
pub(crate) struct Counted {
    socket: TcpStream,
    traffic: Rc<Traffic>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(cx, into);
        add(&self.traffic.received, into.filled().len() - before);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            add(&self.traffic.sent, written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

fn add(to: &Cell<u64>, count: usize) {
    to.set(to.get() + count as u64);
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Counted),
    Tls(Box<TlsStream<Counted>>),
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) struct Unopened {
    pub fault: Fault,
    /// What failed in the TLS handshake, in the words of the library.
    pub handshake: Option<String>,
}

impl From<Fault> for Unopened {
    fn from(fault: Fault) -> Self {
        let handshake = None;
        Self { fault, handshake }
    }
}

impl Stream {
    /// Connects to the first of the origin's addresses that accepts a connection, and does a TLS handshake if the
    /// scheme needs one.
    pub(crate) async fn open(
        origin: &Origin,
        tls: &Tls,
        traffic: &Rc<Traffic>,
        within: Duration,
    ) -> Result<Self, Unopened> {
        let opening = Self::opened(origin, tls, traffic);
        timeout(within, opening)
            .await
            .unwrap_or_else(|_| Err(Fault::ConnectTimeout.into()))
    }

    async fn opened(origin: &Origin, tls: &Tls, traffic: &Rc<Traffic>) -> Result<Self, Unopened> {
        let mut socket = Err(Fault::UnknownHost);
        for address in &origin.addresses {
            socket = connect(*address).await;
            if socket.is_ok() {
                break;
            }
        }
        let traffic = Rc::clone(traffic);
        let socket = socket?;
        let counted = Counted { socket, traffic };
        if !origin.url.tls {
            return Ok(Self::Plain(counted));
        }
        let name = origin.server_name.clone().ok_or(Fault::Tls)?;
        let shaken = tls.connector().connect(name, counted).await;
        let stream = shaken.map_err(|error| match Fault::exchanging(&error) {
            Fault::Reset => Unopened::from(Fault::Reset),
            // A server that closes during the handshake does not speak TLS with us either.
            _ => Unopened {
                fault: Fault::Tls,
                handshake: Some(error.to_string()),
            },
        })?;
        if !tls.may_go_on(stream.get_ref().1.alpn_protocol()) {
            return Err(Fault::Http2.into());
        }
        Ok(Self::Tls(Box::new(stream)))
    }

    /// Returns protocol and cipher suite, if it speaks TLS.
    pub(crate) fn agreed(&self) -> Option<String> {
        let Self::Tls(stream) = self else {
            return None;
        };
        let (_, session) = stream.get_ref();
        let version = session.protocol_version();
        let version = version.and_then(|one| one.as_str()).unwrap_or("TLS");
        let suite = session.negotiated_cipher_suite();
        let suite = suite.and_then(|suite| suite.suite().as_str());
        Some(format!("{version} {}", suite.unwrap_or_default()))
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, Fault> {
    let failed = |error: io::Error| Fault::connecting(&error);
    let socket = TcpStream::connect(address).await.map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    Ok(socket)
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// The form for hyper, which has its own traits.
pub(crate) type ForHyper = hyper_util::rt::TokioIo<Stream>;

const _: fn() = || {
    fn is<T: rt::Read + rt::Write + Unpin>() {}
    is::<ForHyper>();
};
