//! What the shared tier asks of a server of any kind: a handful of operations on short-lived values.

use crate::{
    Stored,
    purge::{Log, Position},
};
use bytes::Bytes;
use std::{fmt, pin::Pin, time::Duration};

pub use kv::{Error, Kind, Read};

/// A future answer. The tier limits how long it waits, and then drops this. An answer that arrives later must never be
/// taken for that of another question.
pub type RemoteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A server, or several that act as one. Shared by all workers. Each has connections of its own
/// ([`PerWorker`](kv::PerWorker)), because each worker is a runtime of one thread.
///
/// Keys are visible ASCII without spaces, at most [`Limits::key`] bytes.
pub trait Remote: fmt::Debug + Send + Sync {
    /// The server's limits.
    fn limits(&self) -> Limits;

    /// Returns the value of `key`; one round trip. A value longer than [`Limits::value`] may come in part, and an empty
    /// one counts as none: neither is ours.
    fn get<'a>(&'a self, key: &'a str, read: Read) -> RemoteFuture<'a, Option<Bytes>>;

    /// Returns the values of `keys`, in their order; one round trip to each server that has some.
    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
        read: Read,
    ) -> RemoteFuture<'a, Vec<Option<Bytes>>>;

    /// Sets `key`. The server forgets it after `expiry` (at least a millisecond, rounded up to the server's unit).
    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> RemoteFuture<'a, ()>;

    /// Like [`set`](Self::set), but only if `key` is absent. Returns whether it was set.
    fn add<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration)
    -> RemoteFuture<'a, bool>;

    /// Like [`set`](Self::set), but only if `key` still has the value `old`. Returns whether it was set.
    fn replace_if<'a>(
        &'a self,
        key: &'a str,
        old: &'a [u8],
        new: &'a [u8],
        expiry: Duration,
    ) -> RemoteFuture<'a, bool>;

    /// Makes the server forget those of `keys` that are there after `expiry`, as [`set`](Self::set) does. Returns whether
    /// all are there. One round trip to each server that has some.
    fn expire<'a>(&'a self, keys: &'a [String], expiry: Duration) -> RemoteFuture<'a, bool>;

    /// Deletes `key` if it still has this value. Returns whether it did. If the server cannot do that in one step, a
    /// key that has changed still stays.
    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> RemoteFuture<'a, bool>;

    /// How many servers have failed and not answered since, if several servers are each left alone by themselves.
    /// `None` if what happens to one question happens to the next.
    fn down(&self) -> Option<usize> {
        None
    }

    /// Drops all workers' connections, because they do not answer. The next questions make new ones.
    fn hang_up(&self);

    /// The position to write beside a response: no purge up to it covers the response on this node. `None` if it is not
    /// known: then the response must not be shared.
    fn position(&self, log: &Log, stored: &Stored) -> Option<Position> {
        log.position_at(stored.checked())
    }

    /// The position of a fetch that begins now: what it brings will not have an earlier one. `None` if it is not known.
    fn position_now(&self, log: &Log) -> Option<Position> {
        log.position_at(log.head())
    }

    /// This node's number for a position that was read beside a response. `None` if it is not known: then the response
    /// must not be used.
    fn sequence(&self, log: &Log, position: Position) -> Option<u64> {
        log.sequence_at(position)
    }
}

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest key, in bytes.
    pub key: usize,
    /// The largest value, in bytes.
    pub value: usize,
}
