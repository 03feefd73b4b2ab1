//! Servers that keep values by key: memcached, Redis, Valkey. What the values are for is not known here.
//!
//! - [`Memcached`] and [`Redis`] ask, over connections that each worker has for itself ([`PerWorker`]).
//! - [`Breaker`] keeps a server that fails from being asked again and again.

#![forbid(unsafe_code)]

mod breaker;
mod error;
mod memcached;
pub mod redis;
mod worker;

pub use breaker::{Breaker, Change, Leave};
pub use error::{BadUrl, Error, Kind};
pub use memcached::{LARGEST_VALUE, LONGEST_KEY, Memcached, takes};
pub use worker::{Connection, PerWorker};

pub use self::redis::Redis;

/// Who may answer a question that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Whoever is nearest, a replica too.
    Any,
    /// Who takes the writes.
    Latest,
}
