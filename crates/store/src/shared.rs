//! The shared tier: Redis, Valkey or memcached, one cache for many nodes.

pub(crate) mod redis;
pub mod remote;
pub mod worker;

use crate::{Stored, purge::Log};
use rules::time::Time;
use std::{sync::Arc, time::Duration};

/// How the shared tier is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `redis://`, `rediss://`, `redis+unix://`, `redis-sentinel://`, `redis-cluster://` or `memcached://a,b,c`.
    pub url: String,
    /// Nothing on a request's path waits longer for the tier.
    pub timeout: Duration,
    /// Longest a response is kept there.
    pub max_ttl: Duration,
    /// Largest body kept there, in bytes.
    pub largest_body: u64,
    /// How long one node may fetch while the others wait for what it brings.
    pub lease: Duration,
    /// What the keys begin with, e.g. `larder`.
    pub prefix: String,
    /// After so long without news of the shared log, what is kept is validated before it is used.
    pub trust: Duration,
    /// This node's name among the others.
    pub node: String,
}

/// An address that cannot be used; for the operator to mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the address of a shared tier: {0}")]
pub struct BadUrl(pub String);

/// The shared tier. Shared by all workers; each has connections of its own.
#[derive(Debug)]
pub struct Shared {}

/// What the tier has under a key.
#[derive(Debug)]
pub enum Found {
    /// These.
    Here(Vec<Arc<Stored>>),
    /// Nothing, and this node is to fetch it; what it brings is to be [kept](Shared::keep). Others wait while the lease lives.
    Lead(Lease),
    /// Nothing, and nobody is asked to wait: the tier is out of order, or the wait for another node was in vain.
    Nothing,
}

/// The right to fetch for all nodes. Dropped, it is given back.
#[derive(Debug)]
pub struct Lease {}

impl Shared {
    /// Reads the address; connects when it is first used, on each worker's own runtime.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(config: Config, log: Arc<Log>) -> Result<Arc<Self>, BadUrl> {
        let _ = log;
        Err(BadUrl(config.url))
    }

    /// What is kept under `key`; what was received no later than `newer_than` counts as nothing. With `lead`, this node takes the lease where nothing is there; where another holds it, this
    /// waits for what that brings, for the rest of the lease at most.
    pub async fn find(&self, key: &[u8], lead: bool, newer_than: Option<Time>) -> Found {
        let _ = (self, key, lead, newer_than);
        Found::Nothing
    }

    /// Keeps `stored` under `key` beside its other variants; in the background, on the worker's runtime.
    pub fn keep(&self, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
        let _ = (self, key, stored, lease);
    }
}
