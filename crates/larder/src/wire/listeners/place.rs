//! Where clients connect, for people to read.

use std::{fmt, net::SocketAddr, os::unix::net::UnixListener};

/// A place where clients connect, as a person would type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenPlace {
    /// Whether it uses TLS.
    pub tls: bool,
    /// The address in use; `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    /// The address as configured; the path of a Unix socket that was handed over.
    pub configured: String,
    /// Whether it redirects clients to HTTPS, whatever they ask for.
    pub redirects: bool,
}

impl fmt::Display for ListenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        match self.address {
            Some(address) => write!(f, "{scheme}://{address}"),
            None => f.write_str(&self.configured),
        }
    }
}

/// The path by which clients find a Unix socket that was handed over.
pub(super) fn path_of(socket: &UnixListener) -> String {
    let address = socket.local_addr().ok();
    let path = address.as_ref().and_then(|address| address.as_pathname());
    path.map_or("a Unix socket without a path".to_owned(), |path| {
        format!("unix:{}", path.display())
    })
}
