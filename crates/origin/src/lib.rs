//! Gets one answer from an origin: pools, TLS, balance, health, retry. Does not know that a cache exists.
//!
//! One fetch goes `gate` (its turn) → `fetch` (the attempts) → `balance` (which server) → `exchange` (one attempt) →
//! `pool` or `connect` (a connection) → `link` (hyper on it) → `message` (is the head believable) → `body`. With `fastcgi`,
//! the path is looked for below the root first, and the attempt goes another way from the connection on.

mod balance;
mod body;
mod budget;
pub mod config;
mod connect;
pub mod error;
mod exchange;
pub mod fastcgi;
mod fetch;
mod gate;
mod health;
mod link;
mod message;
mod peer;
mod pool;
mod resolve;
mod stream;
mod tls;
mod upload;
mod wait;
mod watch;

pub use body::{RequestBody, ResponseBody};
pub use config::OriginConfig;
pub use error::{Error, Kind};

use config::Protocol;
use http::{HeaderMap, Request, Response, StatusCode};
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::time::Instant;

/// One origin: its servers, their health, its limits. Shared by all workers (`Send + Sync`); made once per configuration.
#[derive(Debug)]
pub struct Origin {
    config: OriginConfig,
    peers: Vec<Arc<peer::Peer>>,
    gate: Arc<gate::Gate>,
    budget: budget::Budget,
    tls: Option<tls::Client>,
    /// The workers' pools know this origin by it, and let go of their connections when it is dropped.
    identity: Arc<pool::Identity>,
    /// What scripts wrote to standard error, for the log.
    complaints: Arc<fastcgi::Complaints>,
    /// Health and budget count milliseconds from here.
    born: Instant,
}

/// Where interim responses (RFC 9110 section 15.2) go as they come. Called on the worker's own thread; must not block.
/// HTTP/2 origins' are not reported by hyper and pass unseen.
pub type Interim = Box<dyn FnMut(StatusCode, &HeaderMap) + Send>;

/// What the caller knows of a request beyond its message.
#[derive(Default)]
pub struct Context {
    /// Feeds consistent hashing: same number, same server while it lives.
    pub hash: u64,
    /// Passed each 1xx except 100 and 101.
    pub interim: Option<Interim>,
    /// The request carries no content and its method is idempotent: it may be sent again to another server.
    pub repeatable: bool,
    /// What FastCGI servers are told beside the message.
    pub visitor: Visitor,
}

/// Who asks, and where, as scripts are told (RFC 3875 section 4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Visitor {
    /// The client; `None`: nobody in particular, or it is connected to a Unix socket.
    pub client: Option<IpAddr>,
    /// Its port, where it is known.
    pub port: Option<u16>,
    /// The address it is connected to.
    pub server: Option<SocketAddr>,
    /// Its request is for `https`.
    pub https: bool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("hash", &self.hash)
            .field("interim", &self.interim.is_some())
            .field("repeatable", &self.repeatable)
            .field("visitor", &self.visitor)
            .finish()
    }
}

impl Origin {
    /// Builds the shared part. Errors are configuration's fault (no server, unreadable certificate authority and the like).
    /// Resolves no names: the first fetch or `keep_watch` does.
    pub fn new(config: OriginConfig) -> Result<Arc<Self>, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if config.servers.is_empty() {
            return Err(Error::new(Kind::Configuration).because("the origin has no server"));
        }
        let tls = config
            .tls
            .as_ref()
            .map(|tls| tls::Client::new(tls, &config.protocol))
            .transpose()?;
        let servers = config.servers.iter().enumerate();
        let peers = servers
            .map(|(index, server)| peer::Peer::new(index, server, tls.as_ref()).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let identity = pool::Identity {
            number: NUMBER.fetch_add(1, Relaxed),
            servers: peers.len(),
            idle_connections: config.idle_connections,
            idle_time: config.idle_time,
        };
        let gate = gate::Gate::new(config.most_concurrent, config.queue, config.queue_time);
        Ok(Arc::new(Self {
            peers,
            gate: Arc::new(gate),
            budget: budget::Budget::default(),
            tls,
            identity: Arc::new(identity),
            complaints: Arc::default(),
            born: Instant::now(),
            config,
        }))
    }

    /// The name from the configuration.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Sends `request` and returns when the final head has arrived. Must be called inside a current-thread runtime's
    /// `LocalSet` (connections are driven by `spawn_local`); the pools are the calling worker's own (thread-local, keyed by this origin).
    /// `request`'s URI is in origin form (path and query, sent byte for byte), its `Host` field already right.
    /// A response with 101 carries `hyper::upgrade::OnUpgrade` in its extensions; an upgraded connection no longer counts
    /// against `OriginConfig::most_concurrent`.
    ///
    /// `Expect` is dropped and the framing fields are set anew from the body. A response that comes back has believable
    /// framing; a status from 600 to 999 passes as it is (RFC 9110 section 15 leaves its reading to the recipient).
    pub async fn fetch(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        context: Context,
    ) -> Result<Response<ResponseBody>, Error> {
        match &self.config.protocol {
            Protocol::FastCgi(cgi) => fastcgi::fetch(self, cgi, request, context).await,
            _ => fetch::fetch(self, request, context, None).await,
        }
    }

    /// Runs active health checks and name resolution until dropped; spawned once (not per worker), on a `LocalSet`.
    pub async fn keep_watch(self: Arc<Self>) {
        watch::keep(self).await;
    }

    /// A snapshot for metrics and the admin API.
    pub fn report(&self) -> Report {
        let now = self.now();
        let healthy = |peer: &peer::Peer| {
            let standing = peer.health.standing(now, self.config.slow_start);
            matches!(standing, health::Standing::Healthy(_))
        };
        Report {
            name: self.config.name.clone(),
            active: self.gate.active(),
            queued: self.gate.waiting(),
            servers: self
                .peers
                .iter()
                .map(|peer| peer.report(healthy(peer)))
                .collect(),
        }
    }

    /// Milliseconds since the origin was made.
    fn now(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    /// Whether servers may turn out to speak HTTP/2, whose connections are shared.
    fn may_share(&self) -> bool {
        match &self.config.protocol {
            Protocol::Http1 | Protocol::FastCgi(_) => false,
            Protocol::Http2 => true,
            Protocol::Auto => self.tls.is_some(),
        }
    }
}

/// State of one origin at a moment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name from the configuration.
    pub name: String,
    /// Fetches under way.
    pub active: usize,
    /// Fetches waiting in the queue.
    pub queued: usize,
    /// In the configuration's order.
    pub servers: Vec<ServerReport>,
}

/// State of one server.
#[derive(Clone, Debug, Default)]
pub struct ServerReport {
    /// As configured.
    pub address: String,
    /// Neither at rest after failures nor held for down by active checks.
    pub healthy: bool,
    /// Fetches under way.
    pub active: usize,
    /// Failures since the configuration was loaded.
    pub failures: u64,
}
