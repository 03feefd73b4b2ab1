//! An origin's configuration as plain values. This crate does not read it from files.

pub use crate::fastcgi::config::{FastCgi, Paths};

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// The configuration of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginConfig {
    /// For reports and messages.
    pub name: String,
    /// At least one server.
    pub servers: Vec<Server>,
    /// How one of several servers is chosen.
    pub balance: Balance,
    /// The protocol that the servers speak.
    pub protocol: Protocol,
    /// TLS towards the servers; `None`: plain connections.
    pub tls: Option<Tls>,
    /// Time limits of each fetch.
    pub timeouts: Timeouts,
    /// Idle connections kept per worker and server; 0: none. One of HTTP/2 is idle while it has no stream.
    pub idle_connections: usize,
    /// How long an idle connection is kept.
    pub idle_time: Duration,
    /// How many fetches there may be at the same time.
    pub concurrency: ConcurrencyLimits,
    /// When and how often a request is sent again.
    pub retry: Retry,
    /// When a server that fails rests.
    pub passive: PassiveHealth,
    /// `None`: servers are not checked.
    pub active: Option<ActiveHealth>,
    /// How long a server that comes back takes less than its full share.
    pub slow_start: Duration,
    /// Largest response head accepted, in bytes.
    pub largest_head: usize,
    /// How often names are resolved again.
    pub resolve_every: Duration,
}

impl Default for OriginConfig {
    /// `idle_time` is below nginx's 75 s. Some servers close sooner (Node 5 s, gunicorn 2 s): what a reused connection
    /// did not take is sent again, and what must not be sent twice goes on a connection that was just used, or on a new
    /// one.
    fn default() -> Self {
        Self {
            name: "origin".to_owned(),
            servers: Vec::new(),
            balance: Balance::default(),
            protocol: Protocol::default(),
            tls: None,
            timeouts: Timeouts::default(),
            idle_connections: 256,
            idle_time: Duration::from_mins(1),
            concurrency: ConcurrencyLimits::default(),
            retry: Retry::default(),
            passive: PassiveHealth::default(),
            active: None,
            slow_start: Duration::ZERO,
            largest_head: 64 * 1024,
            resolve_every: Duration::from_secs(30),
        }
    }
}

/// Limits on the number of concurrent fetches from an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// Most concurrent fetches, over all workers. Further ones wait.
    pub most: usize,
    /// How many fetches may wait.
    pub queue: usize,
    /// How long a fetch waits for its turn.
    pub queue_time: Duration,
}

impl ConcurrencyLimits {
    /// Returns the limits for fetches whose content is still on its way. A quarter is left to other fetches, so that
    /// clients that send slowly do not keep the site from everyone who sends nothing.
    pub(crate) fn for_uploads(self) -> Self {
        Self {
            most: self.most - self.most / 4,
            ..self
        }
    }
}

impl Default for ConcurrencyLimits {
    fn default() -> Self {
        Self {
            most: 1024,
            queue: 1024,
            queue_time: Duration::from_secs(10),
        }
    }
}

/// One server of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it listens.
    pub address: Address,
    /// Its share relative to the other servers; 0 counts as 1.
    pub weight: u32,
    /// Whether it is asked only when no server without this mark is healthy.
    pub backup: bool,
}

impl Server {
    /// Makes a server of weight 1 that is no backup.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            weight: 1,
            backup: false,
        }
    }
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A name or an IP address (IPv6 without brackets).
    Tcp {
        /// Name or IP address.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket's path.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How one of several servers is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// In turn, by weight, each worker for itself.
    #[default]
    RoundRobin,
    /// The one with the fewest fetches under way for its weight, over all workers.
    LeastConnections,
    /// The same server for the same `Context::hash` while it lives (rendezvous hashing, by weight).
    ConsistentHash,
}

/// The protocol that the servers speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: prior knowledge on plain connections, ALPN `h2` on TLS.
    Http2,
    /// ALPN decides; plain connections are HTTP/1.1.
    Auto,
    /// FastCGI, on plain connections.
    FastCgi(Arc<FastCgi>),
}

impl Protocol {
    /// Whether this is HTTP/2 and nothing else.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(self, Self::Http2)
    }
}

/// TLS towards the servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Name for SNI and verification; `None`: the server's host.
    pub server_name: Option<String>,
    /// PEM file of authorities; `None`: the system's.
    pub authorities: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
}

/// Time limits of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection is established, name resolution and TLS included.
    pub connect: Duration,
    /// From the last byte of the request that the server took to the end of the response head.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub between_bytes: Duration,
    /// From the call of `Origin::fetch` to the end of the body, including the queue and all retries.
    pub whole: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_mins(1),
            between_bytes: Duration::from_mins(1),
            whole: None,
        }
    }
}

/// The limits on retries. Their budget for ten seconds is ten retries plus `percent` of the fetches of these seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Further attempts after the first.
    pub attempts: u32,
    /// The percentage of the fetches of ten seconds that may be retried, in addition to ten.
    pub percent: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 1,
            percent: 20,
        }
    }
}

/// When a server rests: after `failures` in a row, for `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassiveHealth {
    /// Failures in a row; 0: the server never rests.
    pub failures: u32,
    /// How long the server rests.
    pub rest: Duration,
}

impl Default for PassiveHealth {
    fn default() -> Self {
        Self {
            failures: 3,
            rest: Duration::from_secs(10),
        }
    }
}

/// A request that is sent to each server at intervals. Run by `Origin::keep_watch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveHealth {
    /// Path and query of the request.
    pub path: String,
    /// Its `Host`; `None`: the server's own address.
    pub host: Option<String>,
    /// Time between two checks of a server.
    pub every: Duration,
    /// Time limit from connecting to the response head.
    pub timeout: Duration,
    /// Good answers in a row that bring a server back.
    pub healthy_after: u32,
    /// Failures in a row that take a server out.
    pub unhealthy_after: u32,
    /// Statuses that count as healthy.
    pub status: std::ops::RangeInclusive<u16>,
}
