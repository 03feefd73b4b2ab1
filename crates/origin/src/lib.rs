//! Gets one answer from an origin: pools, TLS, balance, health, retry. Does not know that a cache exists.

mod body;
pub mod config;
pub mod error;

pub use body::{RequestBody, ResponseBody};
pub use config::OriginConfig;
pub use error::{Error, Kind};

use http::{HeaderMap, Request, Response, StatusCode};
use std::sync::Arc;

/// One origin: its servers, their health, its limits. Shared by all workers (`Send + Sync`); made once per configuration.
#[derive(Debug)]
pub struct Origin {}

/// Where interim responses (RFC 9110 section 15.2) go as they come. Called on the worker's own thread... must not block.
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
}

impl Origin {
    /// Builds the shared part. Errors are configuration's fault (unreadable certificate authority and the like).
    pub fn new(config: OriginConfig) -> Result<Arc<Self>, Error> {
        todo!()
    }

    /// The name from the configuration.
    pub fn name(&self) -> &str {
        todo!()
    }

    /// Sends `request` and returns when the final head has arrived. Must be called inside a current-thread runtime's
    /// `LocalSet` (connections are driven by `spawn_local`); the pools are the calling worker's own (thread-local, keyed by this origin).
    /// `request`'s URI is in origin form (path and query, sent byte for byte), its `Host` field already right.
    /// A response with 101 carries `hyper::upgrade::OnUpgrade` in its extensions.
    pub async fn fetch(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        context: Context,
    ) -> Result<Response<ResponseBody>, Error> {
        todo!()
    }

    /// Runs active health checks and name resolution until dropped; spawned once (not per worker), on a `LocalSet`.
    pub async fn keep_watch(self: Arc<Self>) {
        todo!()
    }

    /// A snapshot for metrics and the admin API.
    pub fn report(&self) -> Report {
        todo!()
    }
}

/// State of one origin at a moment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub name: String,
    /// Fetches under way, and waiting in the queue.
    pub active: usize,
    pub queued: usize,
    pub servers: Vec<ServerReport>,
}

/// State of one server.
#[derive(Clone, Debug, Default)]
pub struct ServerReport {
    pub address: String,
    pub healthy: bool,
    pub active: usize,
    pub failures: u64,
}
