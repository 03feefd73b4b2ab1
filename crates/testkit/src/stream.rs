//! One stream type over TCP and Unix sockets.

use crate::BOUND;
use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

/// Where to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<&Path> for Address {
    fn from(path: &Path) -> Self {
        Self::Unix(path.to_owned())
    }
}

/// A connected stream whose reads and writes are bounded by [`BOUND`].
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => Self::tcp(TcpStream::connect_timeout(address, BOUND)?),
            Address::Unix(path) => Self::unix(UnixStream::connect(path)?),
        }
    }

    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(BOUND))?;
        stream.set_write_timeout(Some(BOUND))?;
        Ok(Self::Tcp(stream))
    }

    pub(crate) fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(BOUND))?;
        stream.set_write_timeout(Some(BOUND))?;
        Ok(Self::Unix(stream))
    }

    /// Bounds reads. An error here is a stream that has gone, which the next read tells.
    pub(crate) fn set_read_bound(&self, bound: Duration) {
        let _ = match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(bound)),
            Self::Unix(stream) => stream.set_read_timeout(Some(bound)),
        };
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Errors are of no interest: the other side may have closed before.
    pub(crate) fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}
