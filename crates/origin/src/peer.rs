//! Servers as all workers share them: the configuration of each, and each of its addresses with its health and the
//! fetches under way.

use crate::{
    Error,
    config::{Address, Server},
    fastcgi::Hunger,
    health::Health,
    resolve::{Name, Pair},
    tls,
};
use rustls::pki_types::ServerName;
use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

/// A server as configured. Its addresses have this in common.
#[derive(Debug)]
pub(crate) struct Configured {
    /// Its index in the configuration.
    pub(crate) index: usize,
    /// Its address as configured.
    pub(crate) label: Arc<str>,
    pub(crate) weight: u32,
    pub(crate) backup: bool,
    /// For SNI and verification; `None`: plain.
    pub(crate) tls_name: Option<ServerName<'static>>,
    /// The name to resolve; `None`: the address is fixed.
    pub(crate) name: Option<Arc<Name>>,
    /// Failures of all of its addresses, including those that are gone.
    pub(crate) failures: AtomicU64,
}

/// One address of a server. This is what is chosen, connected to, checked, and sent to rest.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Unique as long as the origin lives. Identifies its lane in each worker's pool.
    pub(crate) number: u64,
    pub(crate) server: Arc<Configured>,
    /// The server's label, and the address if the server is a name.
    pub(crate) label: Arc<str>,
    pub(crate) place: PeerAddress,
    pub(crate) health: Health,
    /// Affects only FastCGI requests.
    pub(crate) hunger: Hunger,
    active: AtomicUsize,
}

/// Where connections go.
#[derive(Debug)]
pub(crate) enum PeerAddress {
    Tcp(Ways),
    Unix(PathBuf),
    /// A name that has not been resolved yet. It stands for its addresses.
    Unknown,
}

/// The ways to one machine.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) pair: Pair,
    /// Whether the spare one took the last connection, and is tried first: a dead one costs its limit only once.
    by_spare: AtomicBool,
}

impl Ways {
    pub(crate) fn new(pair: Pair) -> Self {
        let by_spare = AtomicBool::new(false);
        Self { pair, by_spare }
    }

    /// Returns the way to try first, and the one to try after it.
    pub(crate) fn in_turn(&self) -> (SocketAddr, Option<SocketAddr>) {
        let Pair { own, spare } = self.pair;
        match spare {
            Some(spare) if self.by_spare.load(Relaxed) => (spare, Some(own)),
            spare => (own, spare),
        }
    }

    /// Records that this way took a connection when the other did not.
    pub(crate) fn prefer(&self, address: SocketAddr) {
        self.by_spare.store(address != self.pair.own, Relaxed);
    }
}

/// One fetch under way at a server. Counted until dropped.
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

impl Configured {
    /// Makes the server and its address.
    pub(crate) fn new(
        index: usize,
        server: &Server,
        tls: Option<&tls::Client>,
    ) -> Result<(Self, PeerAddress), Error> {
        let label: Arc<str> = server.address.to_string().into();
        let (name, place) = match &server.address {
            Address::Unix(path) => (None, PeerAddress::Unix(path.clone())),
            Address::Tcp { host, port } => match host.parse::<IpAddr>() {
                Ok(ip) => {
                    let pair = Pair::alone(SocketAddr::new(ip, *port));
                    (None, PeerAddress::Tcp(Ways::new(pair)))
                }
                Err(_) => (Some(Arc::new(Name::new(host, *port))), PeerAddress::Unknown),
            },
        };
        let tls_name = tls
            .map(|tls| tls.name_of(&server.address))
            .transpose()
            .map_err(|error| error.at(&label))?;
        let made = Self {
            index,
            label,
            weight: server.weight.max(1),
            backup: server.backup,
            tls_name,
            name,
            failures: AtomicU64::new(0),
        };
        Ok((made, place))
    }
}

impl Peer {
    /// Makes the peer of a server that has one address.
    pub(crate) fn new(number: u64, server: Arc<Configured>, place: PeerAddress) -> Self {
        let label = Arc::clone(&server.label);
        Self {
            number,
            server,
            label,
            place,
            health: Health::default(),
            hunger: Hunger::default(),
            active: AtomicUsize::new(0),
        }
    }

    /// Makes a peer for an address that the server's name was resolved to. `joined` is when it came beside others, or
    /// in their place.
    pub(crate) fn found(
        number: u64,
        server: &Arc<Configured>,
        pair: Pair,
        joined: Option<u64>,
    ) -> Self {
        let (name, own) = (&server.label, pair.own.ip());
        let label = match pair.spare {
            Some(spare) => format!("{name} at {own} or {}", spare.ip()),
            None => format!("{name} at {own}"),
        };
        Self {
            label: label.into(),
            health: joined.map_or_else(Health::default, Health::joined),
            ..Self::new(
                number,
                Arc::clone(server),
                PeerAddress::Tcp(Ways::new(pair)),
            )
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.place, PeerAddress::Unknown)
    }

    pub(crate) fn pair(&self) -> Option<Pair> {
        match &self.place {
            PeerAddress::Tcp(ways) => Some(ways.pair),
            PeerAddress::Unix(_) | PeerAddress::Unknown => None,
        }
    }

    pub(crate) fn active(&self) -> usize {
        self.active.load(Relaxed)
    }

    /// Returns the server's own address for a `Host` field.
    pub(crate) fn host(&self) -> &str {
        match self.place {
            PeerAddress::Tcp(_) | PeerAddress::Unknown => &self.server.label,
            PeerAddress::Unix(_) => "localhost",
        }
    }

    pub(crate) fn serve(self: Arc<Self>) -> Serving {
        self.active.fetch_add(1, Relaxed);
        Serving(self)
    }
}
