//! The shared tier: Redis, Valkey or memcached, one cache for many nodes.
//!
//! - [`mod@remote`] is what is asked of a server, whichever it is; [`redis`] asks Redis and Valkey.
//! - `guard` is the one way to it: bounded in time, behind a breaker, counted.
//! - `name`, `record` and `chunk` are what lies there; `finding` and `keeping` read and write it.
//! - [`Lease`] makes one of many nodes fetch what none has.
//!
//! A hit costs one round trip, or two where the body is large. Nothing is ever deleted: what is written expires by itself,
//! and purges are the log's affair: each record carries its place in the log that nodes share.

mod chunk;
#[cfg(test)]
mod contract;
mod counts;
mod finding;
mod guard;
mod keeping;
mod lease;
mod memcached;
mod name;
mod record;
mod redis;
pub mod remote;
pub mod stream;
#[cfg(test)]
mod tests;

use crate::{Stored, purge::Log};
use guard::Guard;
use http::HeaderMap;
use remote::Remote;
use rules::time::Time;
use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};
use tokio::time::Instant;

pub use counts::{Event, Hook, Statistics};
pub use kv::BadUrl;
pub use lease::Lease;

/// How the shared tier is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `redis://`, `rediss://`, `redis+unix://`, `redis-sentinel://`, `redis-cluster://` or `memcached://a,b,c`.
    pub url: String,
    /// Nothing on a request's path waits longer for the tier, however many questions are asked and however large the body is.
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

/// The shared tier. Shared by all workers; each has connections of its own.
#[derive(Debug)]
pub struct SharedTier(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    log: Arc<Log>,
    guard: Guard,
    /// How many responses are on their way to the server.
    keeping: AtomicUsize,
    writing: keeping::Writing,
}

/// What one request asks the tier, however often: all of it has one time.
#[derive(Debug)]
pub struct Question<'a> {
    key: &'a [u8],
    /// By which a variant is chosen (RFC 9111 section 4.1).
    request: &'a HeaderMap,
    /// What is not answered by then counts as not answered.
    until: Instant,
}

/// What the tier has under a key.
#[derive(Debug)]
pub enum SharedTierLookup {
    /// These, the most recent first; none of them purged. Of large ones only the one that answers the request: the others stay
    /// where they are.
    Here(Vec<Arc<Stored>>),
    /// Nothing, and this node is to fetch it; what it brings is to be [kept](SharedTier::keep). Others wait while the lease lives.
    Lead(Lease),
    /// Nothing, and nobody is asked to wait: the tier is out of order, or the wait for another node was in vain.
    Nothing,
}

/// Whether the address in `config` is one. Nothing is connected to.
///
/// # Errors
/// It is none.
pub fn check(config: &Config) -> Result<(), BadUrl> {
    remote(config).map(drop)
}

fn remote(config: &Config) -> Result<Box<dyn Remote>, BadUrl> {
    Ok(if is_memcached(config) {
        Box::new(kv::Memcached::new(&config.url, config.timeout)?)
    } else {
        Box::new(kv::Redis::new(&config.url, config.timeout)?)
    })
}

fn is_memcached(config: &Config) -> bool {
    config.url.starts_with("memcached:")
}

impl SharedTier {
    /// Reads the address; connects when it is first used, on each worker's own runtime.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(config: Config, log: Arc<Log>) -> Result<Arc<Self>, BadUrl> {
        let remote = remote(&config)?;
        if is_memcached(&config) {
            log.place_by_clock(keeping::now());
        }
        Ok(Self::over(config, log, remote))
    }

    /// The tier over any server.
    pub fn over(config: Config, log: Arc<Log>, remote: Box<dyn Remote>) -> Arc<Self> {
        let guard = Guard::new(remote, config.timeout);
        Arc::new(Self(Arc::new(Inner {
            config,
            log,
            guard,
            keeping: AtomicUsize::new(0),
            writing: keeping::Writing::default(),
        })))
    }

    /// A question for what is kept under `key`, on behalf of `request`. Its time begins now.
    pub fn question<'a>(&self, key: &'a [u8], request: &'a HeaderMap) -> Question<'a> {
        Question {
            key,
            request,
            until: self.0.guard.deadline(),
        }
    }

    /// What is kept under the key. With `lead`, this node takes the lease where nothing is there; where another holds it, this
    /// waits for what that brings, for as long as the lease lives at most, and the question's time begins again.
    pub async fn find(&self, question: &mut Question<'_>, lead: bool) -> SharedTierLookup {
        self.0.find(question, lead).await
    }

    /// What was found must be validated or fetched again: takes the lease for that, or where another holds it, waits for what that
    /// brings. `than`: when the newest of what was found was received.
    pub async fn renew(&self, question: &mut Question<'_>, than: Time) -> SharedTierLookup {
        let name = self.0.name(question.key);
        self.0.lead(question, &name, than).await
    }

    /// Keeps `stored` under `key` beside its other variants; in the background, on the worker's runtime. Then the lease is
    /// given back.
    pub fn keep(&self, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
        self.0.keep(key, stored, lease);
    }

    /// Changes of the server's state go to `hook`. The first one given stays.
    pub fn tell(&self, hook: Hook) {
        self.0.guard.tell(hook);
    }

    /// What the tier has done so far.
    pub fn statistics(&self) -> Statistics {
        self.0.guard.counts.statistics(self.0.guard.is_open())
    }
}

impl Inner {
    fn name(&self, key: &[u8]) -> String {
        name::of(&self.config.prefix, key, self.guard.remote().limits().key)
    }
}
