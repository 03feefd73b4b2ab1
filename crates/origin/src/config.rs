//! An origin's configuration as plain values; cannot be read from a file here.

use std::{path::PathBuf, time::Duration};

/// Everything about one origin.
#[derive(Clone, Debug)]
pub struct OriginConfig {
    pub name: String,
    pub servers: Vec<Server>,
    pub balance: Balance,
    pub protocol: Protocol,
    /// `None`: plain.
    pub tls: Option<Tls>,
    pub timeouts: Timeouts,
    /// Idle connections kept per worker and server, and how long.
    pub idle_connections: usize,
    pub idle_time: Duration,
    /// Concurrent fetches in all (over all workers); further ones wait in a queue of `queue` for at most `queue_time`.
    pub most_concurrent: usize,
    pub queue: usize,
    pub queue_time: Duration,
    pub retry: Retry,
    pub passive: PassiveHealth,
    pub active: Option<ActiveHealth>,
    /// A server that comes back takes its full share only after this long.
    pub slow_start: Duration,
    /// Largest response head accepted, in bytes.
    pub largest_head: usize,
    /// How often names are resolved again.
    pub resolve_every: Duration,
}

impl Default for OriginConfig {
    fn default() -> Self {
        todo!()
    }
}

/// One server of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub address: Address,
    pub weight: u32,
    pub backup: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    #[default]
    RoundRobin,
    LeastConnections,
    ConsistentHash,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    Http1,
    /// Prior knowledge on plain connections, ALPN `h2` on TLS.
    Http2,
    /// ALPN decides; plain connections are HTTP/1.1.
    Auto,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Name for SNI and verification; `None`: the server's host.
    pub server_name: Option<String>,
    /// PEM file of authorities; `None`: the system's.
    pub authorities: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub first_byte: Duration,
    pub between_bytes: Duration,
    pub whole: Option<Duration>,
}

/// Retries draw on a budget: at most `percent` of requests of the last ten seconds, and at least a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub attempts: u32,
    pub percent: u32,
}

/// After `failures` in a row a server rests for `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassiveHealth {
    pub failures: u32,
    pub rest: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveHealth {
    pub path: String,
    pub host: Option<String>,
    pub every: Duration,
    pub timeout: Duration,
    pub healthy_after: u32,
    pub unhealthy_after: u32,
    pub status: std::ops::RangeInclusive<u16>,
}
