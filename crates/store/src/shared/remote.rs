//! What the shared tier asks of a server, whichever it is: a handful of operations on short-lived values.

use crate::{
    Stored,
    purge::{Log, Position},
};
use bytes::Bytes;
use std::{fmt, pin::Pin, time::Duration};

pub use kv::{Error, Kind, Read};

/// An answer to come. The tier bounds how long it waits and drops this when that is over; an answer that arrives later must
/// never be taken for that of another question.
pub type RemoteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A server, or several that are one to us. Shared by all workers; each has connections of its own
/// ([`PerWorker`](kv::PerWorker)), since workers are runtimes of one thread each.
///
/// Keys are visible ASCII without spaces, [`Limits::key`] bytes at most.
pub trait Remote: fmt::Debug + Send + Sync {
    /// What the server takes.
    fn limits(&self) -> Limits;

    /// The value of `key`; one round trip. One that is longer than [`Limits::value`] may come in part, and an empty one counts as none:
    /// neither is ours.
    fn get<'a>(&'a self, key: &'a str, read: Read) -> RemoteFuture<'a, Option<Bytes>>;

    /// The values of `keys`, in their order; one round trip to each server that has some.
    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
        read: Read,
    ) -> RemoteFuture<'a, Vec<Option<Bytes>>>;

    /// Sets `key`, which the server forgets after `expiry` (at least a millisecond, rounded up to what the server counts in).
    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> RemoteFuture<'a, ()>;

    /// The same where `key` is not there; whether it was set.
    fn add<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration)
    -> RemoteFuture<'a, bool>;

    /// Has the server forget `key`, where it is there, after `expiry`, as [`set`](Self::set) does; whether it is there.
    fn expire<'a>(&'a self, key: &'a str, expiry: Duration) -> RemoteFuture<'a, bool>;

    /// Deletes `key` where it still has this value; whether it did. Where the server cannot do that in one step, a key that
    /// has changed stays in any case.
    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> RemoteFuture<'a, bool>;

    /// Of several servers that are left alone each by itself, how many fail and have not answered since. `None` where what befalls one
    /// question befalls the next.
    fn down(&self) -> Option<usize> {
        None
    }

    /// Drops all workers' connections: they do not answer. The next questions make new ones.
    fn hang_up(&self);

    /// The position to write beside a response: on this node no purge up to there covers it. `None`: not known, so it must not
    /// be shared.
    fn position(&self, log: &Log, stored: &Stored) -> Option<Position> {
        log.position_at(stored.checked())
    }

    /// The number on this node that corresponds to a position read beside a response; `None`: not known, so it must not be
    /// used.
    fn sequence(&self, log: &Log, position: Position) -> Option<u64> {
        log.sequence_at(position)
    }
}

/// What a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest key, in bytes.
    pub key: usize,
    /// The largest value, in bytes.
    pub value: usize,
}
