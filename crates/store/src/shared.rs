//! The shared tier: Redis, Valkey or memcached, one cache for many nodes.
//!
//! - [`mod@remote`] is what is asked of a server of any kind; [`redis`] asks Redis and Valkey.
//! - `guard` is the one way to the server: bounded in time, behind a breaker, counted.
//! - `name`, `record` and `chunk` are what the server holds; `finding` and `keeping` read and write it.
//! - [`Lease`] makes one of many nodes fetch what none has.
//!
//! A hit costs one round trip, or two if the body is large. No response is ever deleted: what is written expires by
//! itself. Purges are left to the log: each record carries its position in the log that nodes share.

mod chunk;
#[cfg(test)]
mod contract;
mod counts;
mod errands;
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

use crate::{Memory, Stored, clock, purge::Log};
use errands::Errands;
use guard::Guard;
use http::HeaderMap;
use remote::Remote;
use rules::time::Time;
use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

pub use counts::{Event, Hook, Statistics};
pub use kv::BadUrl;
pub use lease::Lease;

/// How the shared tier is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `redis://`, `rediss://`, `redis+unix://`, `redis-sentinel://`, `redis-cluster://` or `memcached://a,b,c`.
    pub url: String,
    /// Nothing on a request's path waits longer for the tier, however many questions it asks and however large the body
    /// is.
    pub timeout: Duration,
    /// How long a response is kept there at most.
    pub max_ttl: Duration,
    /// The largest body kept there, in bytes.
    pub largest_body: u64,
    /// How long one node may fetch while the others wait for the result.
    pub lease: Duration,
    /// The beginning of all keys, e.g. `larder`.
    pub prefix: String,
    /// After this long without news of the shared log, what is kept is validated before it is used.
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
    /// Tells this process from all others, and from those before a restart.
    process: u64,
    memory: Arc<Memory>,
    guard: Guard,
    /// The number of responses on their way to the server.
    keeping: AtomicUsize,
    writing: keeping::Writing,
    errands: Errands,
}

/// The questions of one request to the tier. All of them share one time limit.
#[derive(Debug)]
pub struct Question<'a> {
    key: &'a [u8],
    /// Selects the variant (RFC 9111 section 4.1).
    request: &'a HeaderMap,
    /// A hash of what it is [fetched](Question::collapse) under if that is a variant.
    variant: Option<u64>,
    /// What has not been answered by then counts as not answered.
    until: Instant,
    /// When it waits no longer for other nodes, once it has begun to.
    patience: Option<Instant>,
    /// See [`for_refresh`](Question::for_refresh).
    is_refresh: bool,
    /// See [`leave_own`](Question::leave_own).
    leaves_own: bool,
}

impl Question<'_> {
    /// Says which requests of all nodes share a fetch with this one: those for the cache key until it is known what
    /// selects variants, and those for one variant from then on. `key` is the cache key or begins with it.
    pub fn collapse(&mut self, key: &[u8]) {
        self.variant = (key != self.key).then(|| xxh3_64(key));
    }

    /// Says that no client waits for what is fetched: a fetch that was purged only softly is good enough.
    pub const fn for_refresh(&mut self) {
        self.is_refresh = true;
    }

    /// Says whether a fetch of this process for the same is to be left: a reload has overruled it. Nobody knows that of
    /// the fetches of others.
    pub const fn leave_own(&mut self, leaves: bool) {
        self.leaves_own = leaves;
    }

    /// Whether it is known what selects variants.
    const fn knows_variants(&self) -> bool {
        self.variant.is_some()
    }
}

/// What a question does where nothing is kept under its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfNothing {
    /// It takes the lease. If another node holds it, it waits for what that node brings, and the question's time begins
    /// again. All waits of a question together last as long as a lease at most. It takes over the lease of a fetch that
    /// is outdated: what it brings was purged since it began, or a reload has overruled it.
    TakeLease,
    /// It leaves it at that.
    Leave,
}

/// What the tier has under a key.
#[derive(Debug)]
pub enum SharedTierLookup {
    /// These, the most recent first; none of them is purged. Of large ones, only the one that answers the request: the
    /// others are not read. They count in the budget no more, so memory must [adopt](Memory::adopt) them at once.
    Here(Vec<Arc<Stored>>),
    /// Nothing, and this node is to fetch it and [keep](SharedTier::keep) the result. Others wait while the lease
    /// lives.
    Lead(Lease),
    /// Nothing, and nobody is asked to wait: the tier is out of order, memory has no room for the body that is there, or
    /// this node waited for another in vain.
    Nothing,
}

/// Checks the address in `config`. Connects to nothing.
///
/// # Errors
/// The address is malformed.
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
    /// Reads the address. Connects when it is first used, on each worker's own runtime. `memory` has the log of purges,
    /// and the budget in which bodies count that are being read.
    ///
    /// # Errors
    /// The address is malformed.
    pub fn new(config: Config, memory: Arc<Memory>) -> Result<Arc<Self>, BadUrl> {
        let remote = remote(&config)?;
        if is_memcached(&config) {
            memory.log().place_by_clock(clock::now());
        }
        Ok(Self::over(config, memory, remote))
    }

    /// Makes the tier over any server.
    pub fn over(config: Config, memory: Arc<Memory>, remote: Box<dyn Remote>) -> Arc<Self> {
        let guard = Guard::new(remote, config.timeout);
        Arc::new(Self(Arc::new(Inner {
            process: lease::unique(&config.node),
            config,
            memory,
            guard,
            keeping: AtomicUsize::new(0),
            writing: keeping::Writing::default(),
            errands: Errands::default(),
        })))
    }

    /// Begins a question for what is kept under `key`, on behalf of `request`. Its time begins now.
    pub fn question<'a>(&self, key: &'a [u8], request: &'a HeaderMap) -> Question<'a> {
        Question {
            key,
            request,
            variant: None,
            until: self.0.guard.deadline(),
            patience: None,
            is_refresh: false,
            leaves_own: false,
        }
    }

    /// Returns what is kept under the key; `if_nothing` says what to do where nothing is.
    pub async fn find(
        &self,
        question: &mut Question<'_>,
        if_nothing: IfNothing,
    ) -> SharedTierLookup {
        self.0.find(question, if_nothing).await
    }

    /// Returns the tags of what is kept under `keys` and not purged. For callers that want to know what is there and
    /// answer nothing with it. What does not come within the time of a question counts as not there.
    pub async fn tags(&self, keys: &[&[u8]]) -> Vec<Box<str>> {
        self.0.tags(keys).await
    }

    /// Like [`find`](Self::find) with [`IfNothing::TakeLease`], for what was found and must be validated or fetched
    /// again: takes the lease, or waits for what its holder brings. `than` is when the newest of what was found for the
    /// request was received.
    pub async fn renew(&self, question: &mut Question<'_>, than: Time) -> SharedTierLookup {
        let name = self.0.name(question.key);
        self.0.lead(question, &name, than).await
    }

    /// Whether `stored` may be kept once its body has come, as far as its head tells, and its length if that is known.
    pub fn may_keep(&self, stored: &Stored) -> bool {
        self.0.may_keep(stored)
    }

    /// Keeps `stored` under `key` beside its other variants, in the background, on the worker's runtime. Then gives the
    /// lease back.
    pub fn keep(&self, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
        self.0.keep(key, stored, lease);
    }

    /// Waits until the server has all responses that are to be kept, and all leases that are to be given back, or until
    /// it is clear that it does not take them.
    pub async fn settled(&self) {
        self.0.errands.done().await;
    }

    /// Finds out whether a server is back that is not asked at the moment, if no request does. To be called again and
    /// again.
    pub async fn probe(&self) {
        // Nothing is kept under the empty key.
        self.0.guard.probe(&self.0.name(b"")).await;
    }

    /// Sends changes of the server's state to `hook`. Only the first call has an effect.
    pub fn tell(&self, hook: Hook) {
        self.0.guard.tell(hook);
    }

    /// What the tier has done so far.
    pub fn statistics(&self) -> Statistics {
        self.0.guard.counts.statistics(self.0.guard.is_open())
    }
}

impl Inner {
    fn log(&self) -> &Log {
        self.memory.log()
    }

    fn name(&self, key: &[u8]) -> String {
        name::of(&self.config.prefix, key, self.guard.remote().limits().key)
    }
}
