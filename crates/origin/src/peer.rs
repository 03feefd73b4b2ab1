//! One server of an origin as all workers share it: address, health, fetches under way.

use crate::{
    Error, ServerReport,
    config::{Address, Server},
    fastcgi::Hunger,
    health::Health,
    resolve::Addresses,
    tls,
};
use rustls::pki_types::ServerName;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// One server, shared by all workers.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its place in the configuration; names its lane in each worker's pool.
    pub(crate) index: usize,
    /// Its address as configured.
    pub(crate) label: Arc<str>,
    pub(crate) weight: u32,
    pub(crate) backup: bool,
    pub(crate) place: Place,
    /// For SNI and verification; `None`: plain.
    pub(crate) tls_name: Option<ServerName<'static>>,
    pub(crate) health: Health,
    /// Felt by FastCGI's requests only.
    pub(crate) hunger: Hunger,
    active: AtomicUsize,
}

/// Where connections go.
#[derive(Debug)]
pub(crate) enum Place {
    Tcp(Arc<Addresses>),
    Unix(PathBuf),
}

impl Place {
    /// Changes when the addresses change.
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            Self::Tcp(addresses) => addresses.epoch(),
            Self::Unix(_) => 0,
        }
    }
}

/// One fetch under way at a server; counted until dropped.
#[derive(Debug)]
pub(crate) struct Serving(Arc<Peer>);

impl Serving {
    pub(crate) fn peer(&self) -> &Arc<Peer> {
        &self.0
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Relaxed);
    }
}

impl Peer {
    pub(crate) fn new(
        index: usize,
        server: &Server,
        tls: Option<&tls::Client>,
    ) -> Result<Self, Error> {
        let label: Arc<str> = server.address.to_string().into();
        let place = match &server.address {
            Address::Tcp { host, port } => Place::Tcp(Arc::new(Addresses::new(host, *port))),
            Address::Unix(path) => Place::Unix(path.clone()),
        };
        let tls_name = tls
            .map(|tls| tls.name_of(&server.address))
            .transpose()
            .map_err(|error| error.at(&label))?;
        Ok(Self {
            index,
            label,
            weight: server.weight.max(1),
            backup: server.backup,
            place,
            tls_name,
            health: Health::default(),
            hunger: Hunger::default(),
            active: AtomicUsize::new(0),
        })
    }

    pub(crate) fn active(&self) -> usize {
        self.active.load(Relaxed)
    }

    /// Its own address as a `Host`.
    pub(crate) fn host(&self) -> &str {
        match self.place {
            Place::Tcp(_) => &self.label,
            Place::Unix(_) => "localhost",
        }
    }

    pub(crate) fn serve(self: Arc<Self>) -> Serving {
        self.active.fetch_add(1, Relaxed);
        Serving(self)
    }

    pub(crate) fn report(&self, healthy: bool) -> ServerReport {
        ServerReport {
            address: self.label.to_string(),
            healthy,
            active: self.active(),
            failures: self.health.failures(),
        }
    }
}
