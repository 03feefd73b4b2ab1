//! The socket that accepts connections, and a connection as it was accepted.

use crate::listen::{
    bind::{Listening, SocketName},
    socket::Socket,
};
use origin::seldom::Seldom;
use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Whether accepting must pause. That is logged now and then. It is not for errors of a single client, such as one that
/// left before we took it.
pub(super) fn must_rest(error: &io::Error, said: &Seldom) -> bool {
    let the_clients = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    );
    if !the_clients && said.now() {
        tracing::warn!(%error, "cannot accept connections now");
    }
    !the_clients
}

pub(super) enum Listener {
    Tcp(TcpListener, Option<SocketAddr>),
    Unix(Option<Arc<SocketName>>, UnixListener),
}

/// A connection just accepted.
pub(in crate::listen) struct Accepted {
    pub(in crate::listen) socket: Socket,
    pub(in crate::listen) peer: Option<SocketAddr>,
    pub(in crate::listen) local: Option<SocketAddr>,
}

impl Listener {
    pub(super) fn new(socket: Listening, bound: Option<SocketAddr>) -> io::Result<Self> {
        Ok(match socket {
            Listening::Tcp(listener) => Self::Tcp(TcpListener::from_std(listener)?, bound),
            Listening::Unix(name, listener) => Self::Unix(name, UnixListener::from_std(listener)?),
        })
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        match self {
            Self::Tcp(listener, bound) => listener
                .poll_accept(cx)
                .map_ok(|(stream, peer)| Accepted::tcp(stream, peer, *bound)),
            Self::Unix(_, listener) => listener
                .poll_accept(cx)
                .map_ok(|(stream, _)| Accepted::unix(stream)),
        }
    }

    /// Returns the connections that the kernel holds at the end. It does not use the runtime, which may not have learnt
    /// of them yet.
    pub(super) fn into_rest(self) -> io::Result<Vec<Accepted>> {
        let mut rest = Vec::new();
        match self {
            Self::Tcp(listener, bound) => {
                let listener = listener.into_std()?;
                while let Ok((stream, peer)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    rest.push(Accepted::tcp(TcpStream::from_std(stream)?, peer, bound));
                }
            }
            Self::Unix(name, listener) => {
                // While the socket still listens.
                drop(name);
                let listener = listener.into_std()?;
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    rest.push(Accepted::unix(UnixStream::from_std(stream)?));
                }
            }
        }
        Ok(rest)
    }
}

impl Accepted {
    /// `bound` is where the listener listens. It is the socket's own address, unless it stands for all of the
    /// machine's.
    fn tcp(stream: TcpStream, peer: SocketAddr, bound: Option<SocketAddr>) -> Self {
        let known = bound.filter(|bound| !bound.ip().is_unspecified());
        Self {
            local: known.or_else(|| stream.local_addr().ok()),
            socket: Socket::Tcp(stream),
            peer: Some(canonical(peer)),
        }
    }

    fn unix(stream: UnixStream) -> Self {
        Self {
            socket: Socket::Unix(stream),
            peer: None,
            local: None,
        }
    }
}

/// Turns the IPv4-mapped address of an IPv4 client of an IPv6 socket into an IPv4 address.
pub(in crate::listen) fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

pub(super) async fn accept(listener: Option<&mut Listener>) -> io::Result<Accepted> {
    match listener {
        Some(listener) => poll_fn(|cx| listener.poll_accept(cx)).await,
        None => std::future::pending().await,
    }
}
