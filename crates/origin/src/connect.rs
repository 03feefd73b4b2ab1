//! Makes one connection to a server: resolve, connect, TLS, within the limit.

use crate::{
    Error, Kind, Servers,
    config::Protocol,
    pacing,
    peer::{Peer, Place},
    pem,
    resolve::Addresses,
    stream::{Secured, Stream, Wire},
};
use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};
use tokio::{
    net::{TcpSocket, TcpStream, UnixStream},
    time::{Instant, sleep, timeout, timeout_at},
};

/// Between two tries of a Unix socket whose queue is full.
const PAUSE: Duration = Duration::from_millis(10);

/// A connection that nothing has been said on yet.
pub(crate) struct Dialled {
    pub(crate) stream: Stream,
    pub(crate) speaks: Speaks,
    /// `Place::epoch` when it was made.
    pub(crate) epoch: u64,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
    FastCgi,
}

/// Connects to `peer` within `limit`; `only_http1` where the request asks for an upgrade.
pub(crate) async fn dial(
    origin: &Servers,
    peer: &Peer,
    only_http1: bool,
    limit: Duration,
) -> Result<Dialled, Error> {
    let until = Instant::now() + limit;
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
    let (wire, epoch) = match &peer.place {
        Place::Unix(path) => {
            let stream = knock(path).await.map_err(refused)?;
            (Wire::Unix(stream), 0)
        }
        Place::Tcp(addresses) => {
            let (stream, epoch) = reach(addresses, until).await?;
            (Wire::Tcp(stream), epoch)
        }
    };
    let (Some(tls), Some(name)) = (&origin.tls, &peer.tls_name) else {
        let speaks = match &origin.config.protocol {
            Protocol::Http2 => Speaks::Http2,
            Protocol::Http1 | Protocol::Auto => Speaks::Http1,
            Protocol::FastCgi(_) => Speaks::FastCgi,
        };
        let stream = Stream::new(Secured::Plain(wire));
        return Ok(Dialled {
            stream,
            speaks,
            epoch,
        });
    };
    // A server that is HTTP/2 by configuration has no HTTP/1.1 to fall back on.
    let only_http1 = only_http1 && !origin.config.protocol.is_http2();
    let stream = tls
        .connector(only_http1)
        .connect(name.clone(), wire)
        .await
        .map_err(|cause| Error::new(Kind::Tls).because(pem::refused(cause)))?;
    let speaks = agreed(stream.get_ref().1.alpn_protocol(), &origin.config.protocol)?;
    let stream = Stream::new(Secured::Tls(Box::new(stream)));
    Ok(Dialled {
        stream,
        speaks,
        epoch,
    })
}

/// Connects to a Unix socket. Where a TCP server whose queue is full lets a connection wait, a Unix socket refuses it for
/// the moment: it is tried again until the caller's limit.
async fn knock(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// What ALPN settled on (RFC 7301); a server without it speaks HTTP/1.1.
fn agreed(chosen: Option<&[u8]>, wanted: &Protocol) -> Result<Speaks, Error> {
    match (chosen, wanted) {
        (Some(b"h2"), Protocol::Http2 | Protocol::Auto) => Ok(Speaks::Http2),
        (_, Protocol::Http2) => {
            Err(Error::new(Kind::Protocol).because("the server does not offer h2 by ALPN"))
        }
        _ => Ok(Speaks::Http1),
    }
}

/// Tries all addresses in turn, beginning with the one that worked last. Each has an even part of the time left, so a
/// dead address cannot use up all of it.
async fn reach(addresses: &Arc<Addresses>, until: Instant) -> Result<(TcpStream, u64), Error> {
    let answer = addresses.get().await?;
    let known = &answer.addresses;
    let first = addresses.favourite();
    let mut last = Error::new(Kind::Unresolvable);
    for turn in 0..known.len() {
        let index = (first + turn) % known.len();
        let Some(address) = known.get(index) else {
            continue;
        };
        let left = until.saturating_duration_since(Instant::now());
        let part = left / u32::try_from(known.len() - turn).unwrap_or(1);
        match timeout(part, to(*address)).await {
            Ok(Ok(stream)) => {
                addresses.prefer(index);
                return Ok((stream, answer.epoch));
            }
            Ok(Err(cause)) => last = refused(cause),
            Err(_) => last = Error::new(Kind::ConnectTimeout),
        }
    }
    Err(last)
}

async fn to(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    pacing::spare(&socket, address.ip());
    let stream = socket.connect(address).await?;
    // Heads and bodies are written whole; waiting for more only adds delay.
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn refused(cause: io::Error) -> Error {
    let kind = match cause.kind() {
        io::ErrorKind::TimedOut => Kind::ConnectTimeout,
        _ => Kind::Refused,
    };
    Error::new(kind).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_addresses_are_tried_and_the_good_one_remembered() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = listener.local_addr().unwrap();
        // Nobody listens on the loopback's other addresses.
        let dead = |last| SocketAddr::from(([127, 0, 0, last], good.port()));
        let until = Instant::now() + Duration::from_secs(5);
        let addresses = Arc::new(Addresses::resolved(vec![dead(2), dead(3), good]));
        for _ in 0..2 {
            let (stream, epoch) = reach(&addresses, until).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), good);
            assert_eq!((addresses.favourite(), epoch), (2, 1));
        }
        let addresses = Arc::new(Addresses::resolved(vec![dead(2), dead(3)]));
        let error = reach(&addresses, until).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Refused);
    }
}
