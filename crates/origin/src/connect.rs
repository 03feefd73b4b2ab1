//! Makes one connection to a server (connect, TLS) within the time limit.

use crate::{
    Error, Kind, Servers,
    config::Protocol,
    descriptors, keepalive, pacing,
    peer::{Peer, PeerAddress, Ways},
    pem,
    stream::{Secured, Stream, Wire},
};
use rustix::io::Errno;
use rustls::AlertDescription;
use std::{io, net::SocketAddr, path::Path, time::Duration};
use tokio::{
    net::{TcpSocket, TcpStream, UnixStream},
    time::{Instant, sleep, timeout, timeout_at},
};

/// Pause between two attempts at a Unix socket whose queue is full.
const PAUSE: Duration = Duration::from_millis(10);

/// The least time that one of several addresses gets. A lost packet is sent again within it.
const LEAST: Duration = Duration::from_secs(2);

/// A connection on which nothing has been said yet.
pub(crate) struct Dialled {
    pub(crate) stream: Stream,
    pub(crate) speaks: Speaks,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
    FastCgi,
}

/// Connects to `peer` before `until`. `only_http1` is set if the request asks for an upgrade.
pub(crate) async fn dial(
    origin: &Servers,
    peer: &Peer,
    only_http1: bool,
    until: Instant,
) -> Result<Dialled, Error> {
    timeout_at(until, connect(origin, peer, only_http1, until))
        .await
        .unwrap_or_else(|_| Err(Error::new(Kind::ConnectTimeout)))
        .map_err(|error| error.at(&peer.label))
}

async fn connect(
    origin: &Servers,
    peer: &Peer,
    only_http1: bool,
    until: Instant,
) -> Result<Dialled, Error> {
    let secured = origin.tls.as_ref().zip(peer.server.tls_name.as_ref());
    let wire = match &peer.place {
        PeerAddress::Unix(path) => {
            Wire::Unix(knock(path).await.map_err(|cause| refused(cause, None))?)
        }
        PeerAddress::Tcp(ways) => {
            let left = until.saturating_duration_since(Instant::now());
            let part = part(left, origin.roster.count(peer));
            Wire::Tcp(reach(ways, part).await?)
        }
        PeerAddress::Unknown => return Err(Error::new(Kind::Unresolvable)),
    };
    let Some((tls, name)) = secured else {
        let speaks = match &origin.config.protocol {
            Protocol::Http2 => Speaks::Http2,
            Protocol::Http1 | Protocol::Auto => Speaks::Http1,
            Protocol::FastCgi(_) => Speaks::FastCgi,
        };
        let stream = Stream::new(Secured::Plain(wire));
        return Ok(Dialled { stream, speaks });
    };
    let connecting = tls.connector(only_http1).connect(name.clone(), wire);
    let stream = connecting.await.map_err(|cause| {
        let kind = if only_http1 && lacks_http1(&cause) {
            Kind::NoUpgrade
        } else {
            Kind::Tls
        };
        Error::new(kind).because(pem::refused(cause))
    })?;
    let chosen = stream.get_ref().1.alpn_protocol();
    let speaks = match chosen {
        Some(b"http/1.1") if only_http1 => Speaks::Http1,
        // A server that chooses nothing may go on in HTTP/2, which is all that it is known to speak.
        _ if only_http1 && origin.config.protocol.is_http2() => {
            return Err(Error::new(Kind::NoUpgrade));
        }
        _ => agreed(chosen, &origin.config.protocol)?,
    };
    let stream = Stream::new(Secured::Tls(Box::new(stream)));
    Ok(Dialled { stream, speaks })
}

/// Whether a handshake in which only HTTP/1.1 was offered failed because the server does not speak it (RFC 7301 section
/// 3.2).
fn lacks_http1(cause: &io::Error) -> bool {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(
        inner,
        Some(rustls::Error::AlertReceived(
            AlertDescription::NoApplicationProtocol
        ))
    )
}

/// Returns an even part of `limit` for one of `addresses` of a name. If all of them are dead, the caller should not
/// wait for each as long as for a server that has only one.
fn part(limit: Duration, addresses: usize) -> Duration {
    let even = limit / u32::try_from(addresses.max(1)).unwrap_or(u32::MAX);
    even.max(LEAST).min(limit)
}

/// Connects to a Unix socket. If its queue is full, a TCP server lets the connection wait, but a Unix socket refuses it
/// for the moment: it is tried again until the caller's limit.
async fn knock(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path)
            .await
            .and_then(descriptors::granted)
        {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// Returns what ALPN agreed on (RFC 7301). A server without ALPN speaks HTTP/1.1.
fn agreed(chosen: Option<&[u8]>, wanted: &Protocol) -> Result<Speaks, Error> {
    match (chosen, wanted) {
        (Some(b"h2"), Protocol::Http2 | Protocol::Auto) => Ok(Speaks::Http2),
        (_, Protocol::Http2) => {
            Err(Error::new(Kind::Protocol).because("the server does not offer h2 by ALPN"))
        }
        _ => Ok(Speaks::Http1),
    }
}

/// Connects to a machine in either of two ways, beginning with the one that worked last. The first gets half of
/// `limit`, so that a dead one cannot use up all of it.
async fn reach(ways: &Ways, limit: Duration) -> Result<TcpStream, Error> {
    let (first, second) = ways.in_turn();
    let Some(second) = second else {
        return within(limit, first).await;
    };
    let began = Instant::now();
    if let Ok(stream) = within(limit / 2, first).await {
        return Ok(stream);
    }
    let stream = within(limit.saturating_sub(began.elapsed()), second).await?;
    ways.prefer(second);
    Ok(stream)
}

async fn within(limit: Duration, address: SocketAddr) -> Result<TcpStream, Error> {
    match timeout(limit, to(address)).await {
        Ok(done) => done.map_err(|cause| refused(cause, Some(address))),
        Err(_) => Err(Error::new(Kind::ConnectTimeout)),
    }
}

async fn to(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.and_then(descriptors::granted)?;
    pacing::spare(&socket, address.ip());
    keepalive::turn_on(&socket);
    let stream = socket.connect(address).await?;
    // Heads and bodies are written whole: waiting for more only adds delay.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Says why there is no connection. `to` is the address, if the server has one.
fn refused(cause: io::Error, to: Option<SocketAddr>) -> Error {
    let kind = match Errno::from_io_error(&cause) {
        Some(Errno::TIMEDOUT) => Kind::ConnectTimeout,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Kind::NoSocket,
        // All ports are taken. For IPv6 this may also mean that the machine has no address at all.
        Some(Errno::ADDRNOTAVAIL) if to.is_some_and(|to| to.is_ipv4()) => Kind::NoSocket,
        _ => Kind::Refused,
    };
    Error::new(kind).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Pair;

    #[test]
    fn what_this_machine_lacks_is_no_servers_fault() {
        let v4 = Some(SocketAddr::from(([192, 0, 2, 1], 80)));
        let v6 = Some(SocketAddr::from(([0; 16], 80)));
        for (errno, to, kind) in [
            (Errno::MFILE, v4, Kind::NoSocket),
            (Errno::MFILE, None, Kind::NoSocket),
            (Errno::NOBUFS, v6, Kind::NoSocket),
            (Errno::ADDRNOTAVAIL, v4, Kind::NoSocket),
            (Errno::ADDRNOTAVAIL, v6, Kind::Refused),
            (Errno::CONNREFUSED, v4, Kind::Refused),
            (Errno::NETUNREACH, v4, Kind::Refused),
            (Errno::NOENT, None, Kind::Refused),
            (Errno::TIMEDOUT, v4, Kind::ConnectTimeout),
        ] {
            assert_eq!(refused(errno.into(), to).kind(), kind, "{errno:?}");
        }
        assert!(!Kind::NoSocket.is_the_servers());
    }

    #[tokio::test]
    async fn the_other_way_is_tried_and_remembered() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        let limit = Duration::from_secs(5);
        // Nobody listens on the loopback's other addresses.
        let dead = |last| SocketAddr::from(([127, 0, 0, last], good.port()));
        let ways = |own, spare| {
            Ways::new(Pair {
                own,
                spare: Some(spare),
            })
        };
        let both = ways(dead(2), good);
        for first in [dead(2), good] {
            assert_eq!(both.in_turn().0, first);
            let stream = reach(&both, limit).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), good);
        }
        let error = reach(&ways(dead(2), dead(3)), limit).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Refused);
    }

    /// The least that shows it: what the kernel then does takes minutes, and a network that breaks.
    #[tokio::test]
    async fn a_server_that_vanishes_is_given_up() {
        use rustix::net::sockopt::{socket_keepalive, tcp_keepidle};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = to(listener.local_addr().unwrap()).await.unwrap();
        assert!(socket_keepalive(&stream).unwrap());
        assert_eq!(tcp_keepidle(&stream).unwrap(), Duration::from_mins(1));
    }

    #[test]
    fn several_addresses_share_the_limit() {
        let second = Duration::from_secs(1);
        for (limit, addresses, has) in [(5, 1, 5), (12, 2, 6), (12, 3, 4), (12, 64, 2), (1, 9, 1)] {
            assert_eq!(part(limit * second, addresses), has * second);
        }
    }
}
