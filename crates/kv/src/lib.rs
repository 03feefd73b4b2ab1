//! Clients for servers that keep values by key: memcached, Redis, Valkey. This crate does not know what the values are
//! for.
//!
//! - [`Memcached`] and [`Redis`] send questions, over connections that each worker has for itself ([`PerWorker`]).
//! - [`Breaker`] keeps a server that fails from being asked again and again.

#![forbid(unsafe_code)]

mod breaker;
mod error;
mod memcached;
pub mod redis;
mod worker;

pub use breaker::{Breaker, Change, Permission};
pub use error::{BadUrl, Error, Kind};
pub use memcached::{LARGEST_VALUE, LONGEST_KEY, Memcached, takes};
pub use worker::{Connection, PerWorker};

pub use self::redis::Redis;

/// Which server may answer a question that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The nearest one, which may be a replica.
    Any,
    /// The one that takes the writes.
    Latest,
}
