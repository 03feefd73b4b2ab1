//! Opens listening sockets: one for each worker if the kernel can spread connections, else one that all share.

mod unix_socket;

pub(super) use unix_socket::SocketName;

use super::{
    config::{Address, ListenConfig},
    deferral,
};
use origin::{keepalive, pacing};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::{io, net::SocketAddr, os::unix::net as unix, path::PathBuf, sync::Arc};

/// A listening socket for one worker, with the listener's configuration.
#[derive(Debug)]
pub struct Bound {
    pub(super) socket: Listening,
    pub(super) config: Arc<ListenConfig>,
    pub(super) local: Option<SocketAddr>,
}

/// The socket, not yet registered with a runtime: `Bound` crosses threads before its worker takes it.
#[derive(Debug)]
pub(super) enum Listening {
    Tcp(std::net::TcpListener),
    /// The name is the first field so that it is dropped first.
    Unix(Option<Arc<SocketName>>, unix::UnixListener),
}

impl Bound {
    /// The address in use, with the port that the kernel chose; `None` on a Unix socket.
    pub fn local(&self) -> Option<SocketAddr> {
        self.local
    }
}

/// Why a listener could not be opened. All but `Other` are for the operator to fix; none is worth retrying at once.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process listens there.
    #[error("cannot listen on {0}: the address is in use by another process")]
    InUse(String),
    /// We may not use the port or path.
    #[error(
        "cannot listen on {0}: no permission (ports below 1024 need CAP_NET_BIND_SERVICE, paths a writable folder)"
    )]
    NoPermission(String),
    /// The address does not belong to this machine.
    #[error("cannot listen on {0}: this machine has no such address")]
    NoSuchAddress(String),
    /// A file at the path is not a socket.
    #[error("cannot listen on {0}: a file that is not a socket is in the way")]
    NotASocket(String),
    /// Any other error of the system.
    #[error("cannot listen on {0}: {1}")]
    Other(String, io::Error),
}

impl BindError {
    /// The error that the system returned for listening on `place`.
    pub fn new(place: &str, error: io::Error) -> Self {
        let place = place.to_owned();
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(place),
            io::ErrorKind::PermissionDenied => Self::NoPermission(place),
            io::ErrorKind::AddrNotAvailable => Self::NoSuchAddress(place),
            _ => Self::Other(place, error),
        }
    }
}

/// Opens the listener for `workers` workers (at least one). Each worker has a TCP socket of its own (`SO_REUSEPORT`).
/// Unix and inherited sockets are one socket with a handle for each worker.
pub fn bind(config: ListenConfig, workers: usize) -> Result<Vec<Bound>, BindError> {
    let workers = workers.max(1);
    let place = place_of(&config.address);
    let fail = |error| BindError::new(&place, error);
    let sockets = match &config.address {
        Address::Tcp(address) => bind_tcp(*address, config.backlog, workers).map_err(fail)?,
        Address::Unix(path) => {
            let (name, first) = unix_socket::open(path, &config)?;
            let name = Some(Arc::new(name));
            let handle = || Ok(Listening::Unix(name.clone(), first.try_clone()?));
            share(workers, handle).map_err(fail)?
        }
        Address::InheritedTcp(listener) => {
            // Like a socket of our own, it is not in the way of a check of the configuration.
            SockRef::from(listener).set_reuse_port(true).map_err(fail)?;
            share(workers, || listener.try_clone().map(Listening::Tcp)).map_err(fail)?
        }
        Address::InheritedUnix(listener) => {
            let handle = || Ok(Listening::Unix(None, listener.try_clone()?));
            share(workers, handle).map_err(fail)?
        }
    };
    let config = Arc::new(config);
    sockets
        .into_iter()
        .map(|socket| {
            let local = prepare(&socket).map_err(fail)?;
            Ok(Bound {
                socket,
                config: Arc::clone(&config),
                local,
            })
        })
        .collect()
}

fn place_of(address: &Address) -> String {
    let path = |path: &PathBuf| path.display().to_string();
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(at) => path(at),
        Address::InheritedTcp(_) | Address::InheritedUnix(_) => "an inherited socket".to_owned(),
    }
}

fn share(workers: usize, handle: impl Fn() -> io::Result<Listening>) -> io::Result<Vec<Listening>> {
    (0..workers).map(|_| handle()).collect()
}

/// Prepares the socket for a runtime and returns its address.
fn prepare(socket: &Listening) -> io::Result<Option<SocketAddr>> {
    match socket {
        Listening::Tcp(listener) => {
            listener.set_nonblocking(true)?;
            // For the connections accepted here, which inherit it. Answers are written whole, so waiting for more to
            // fill a packet only delays their tail.
            SockRef::from(listener).set_tcp_nodelay(true)?;
            keepalive::turn_on(listener);
            let local = listener.local_addr()?;
            pacing::spare(listener, local.ip());
            Ok(Some(local))
        }
        Listening::Unix(_, listener) => listener.set_nonblocking(true).map(|()| None),
    }
}

fn bind_tcp(address: SocketAddr, backlog: u32, workers: usize) -> io::Result<Vec<Listening>> {
    // `SO_REUSEPORT` would let a second process of the same user share the port silently. So the first socket binds
    // without it, which fails if another process listens there. It gets the option once bound, so that its siblings may
    // join.
    let first = open_tcp(address)?;
    first.bind(&address.into())?;
    first.set_reuse_port(true)?;
    let address = first.local_addr()?.as_socket().unwrap_or(address);
    let mut sockets = vec![first];
    for _ in 1..workers {
        let socket = open_tcp(address)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        sockets.push(socket);
    }
    // All are bound before any listens, so that a failure leaves no half-open listener behind.
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    sockets
        .into_iter()
        .map(|socket| {
            socket.listen(backlog)?;
            deferral::defer(&socket);
            Ok(Listening::Tcp(socket.into()))
        })
        .collect()
}

fn open_tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::BindError;
    use std::io::{Error, ErrorKind};

    #[test]
    fn faults_are_one_clear_line() {
        for (kind, said) in [
            (ErrorKind::AddrInUse, "in use"),
            (ErrorKind::PermissionDenied, "no permission"),
            (ErrorKind::AddrNotAvailable, "no such address"),
            (ErrorKind::InvalidInput, "invalid input"),
        ] {
            let text = BindError::new("[::]:80", Error::from(kind)).to_string();
            assert!(text.starts_with("cannot listen on [::]:80: "), "{text}");
            assert!(text.contains(said) && !text.contains('\n'), "{text}");
        }
    }
}
