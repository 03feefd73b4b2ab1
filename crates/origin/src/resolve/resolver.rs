//! The system's resolver.

use std::{
    fmt, io,
    net::{SocketAddr, ToSocketAddrs},
};

type Ask = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Resolves names as the system does, unless a test replaces it. It may take long, and cannot be interrupted.
pub(super) struct Resolver(Box<Ask>);

impl Resolver {
    #[cfg(test)]
    pub(super) fn new(
        ask: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(ask))
    }

    /// Returns at least one address.
    pub(super) fn ask(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found = self.0(name, port)?;
        if found.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(found)
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self(Box::new(|name, port| {
            let found = (name, port).to_socket_addrs();
            found.map(Iterator::collect)
        }))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
