//! What the shared tier asks of a server, whichever it is: a handful of operations on short-lived values.

use crate::{
    Stored,
    purge::{Log, Position},
};
use bytes::Bytes;
use std::{fmt, pin::Pin, time::Duration};

/// An answer to come. The tier bounds how long it waits and drops this when that is over; an answer that arrives later must
/// never be taken for that of another question.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A server, or several that are one to us. Shared by all workers; each has connections of its own
/// ([`PerWorker`](super::worker::PerWorker)), since workers are runtimes of one thread each.
///
/// Keys are visible ASCII without spaces, [`Limits::key`] bytes at most.
pub trait Remote: fmt::Debug + Send + Sync {
    /// What the server takes.
    fn limits(&self) -> Limits;

    /// The value of `key`; one round trip.
    fn get<'a>(&'a self, key: &'a str, read: Read) -> Asked<'a, Option<Bytes>>;

    /// The values of `keys`, in their order; one round trip to each server that has some.
    fn get_many<'a>(&'a self, keys: &'a [String], read: Read) -> Asked<'a, Vec<Option<Bytes>>>;

    /// Sets `key`, which the server forgets after `expiry` (at least a millisecond, rounded up to what the server counts in).
    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> Asked<'a, ()>;

    /// The same where `key` is not there; whether it was set.
    fn add<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> Asked<'a, bool>;

    /// Deletes `key` where it still has this value; whether it did. Where the server cannot do that in one step, a key that
    /// has changed stays in any case.
    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> Asked<'a, bool>;

    /// Drops this worker's connections: they do not answer. The next question makes new ones.
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

/// Who may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Whoever is nearest, a replica too.
    Any,
    /// Who takes the writes.
    Latest,
}

/// What became of a question that was not answered. The tier counts it and goes on as if nothing were there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct Error {
    /// What it was.
    pub kind: Kind,
    /// The server's or the system's own words, for the operator.
    pub detail: String,
}

/// What it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No connection, or no server that could answer: refused, reset, loading, without a primary.
    Unreachable,
    /// No answer in time.
    Timeout,
    /// Wrong password, or no permission; for the operator to mend.
    Refused,
    /// Something else lies under our key.
    WrongType,
    /// The server takes no writes: no room, or it may only be read.
    Full,
    /// The value is larger than the server takes.
    TooLarge,
    /// The server does not do what it was asked for.
    Rejected,
    /// An answer that is none.
    Protocol,
}

impl Kind {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 8] = [
        Self::Unreachable,
        Self::Timeout,
        Self::Refused,
        Self::WrongType,
        Self::Full,
        Self::TooLarge,
        Self::Rejected,
        Self::Protocol,
    ];

    /// Whether the next question would most likely fare the same, so that after a few of these none is asked for a while. The
    /// others are about one key or one value.
    pub const fn opens_breaker(self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::Timeout | Self::Refused | Self::Protocol
        )
    }

    /// A name for metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::WrongType => "wrong-type",
            Self::Full => "full",
            Self::TooLarge => "too-large",
            Self::Rejected => "rejected",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "cannot be reached",
            Self::Timeout => "does not answer in time",
            Self::Refused => "refuses us",
            Self::WrongType => "holds something else under our key",
            Self::Full => "takes no writes",
            Self::TooLarge => "does not take values this large",
            Self::Rejected => "does not do what it is asked for",
            Self::Protocol => "gives answers that are none",
        })
    }
}

impl Error {
    /// An error with the words of who reported it.
    pub fn new(kind: Kind, detail: impl fmt::Display) -> Self {
        Self {
            kind,
            detail: detail.to_string(),
        }
    }
}
