//! What a purger needs of the logs: the one that nodes share, and this node's own on disk. Whoever keeps them implements
//! this.

use crate::{
    Purged,
    purge::{Position, Purge, TooMany},
};
use rules::time::Time;
use std::{fmt, pin::Pin, time::Duration};

/// A future that may cross threads.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The log that nodes share. Its entries come back to [`Memory::apply`](crate::Memory::apply) on every node, in one order.
pub trait SharedLog: fmt::Debug + Send + Sync {
    /// Appends `purges`, and waits until this node has applied all of them. Returns the result of each here, and the
    /// position of the last. On an error none takes effect, except perhaps with [`Unreachable::Unknown`].
    fn publish(&self, purges: Vec<Purge>) -> Boxed<Result<(Vec<Purged>, Position), PurgeError>>;

    /// Waits until all nodes have applied everything up to `position`, `within` that time. Returns the names of those
    /// that have not.
    fn everywhere(&self, position: Position, within: Duration) -> Boxed<Vec<String>>;

    /// Applies `purge` on this node at once, and appends it in the background. For what applications invalidate in
    /// passing.
    fn tell(&self, purge: Purge, at: Time);

    /// Says that this node answers no request any more, so that no other waits for it. Ready when that is said, or
    /// cannot be.
    fn leave(&self) -> Boxed<()>;
}

/// Makes the entries of this node's log durable.
pub trait Durable: fmt::Debug + Send + Sync {
    /// Waits until everything up to `sequence` would survive a power loss.
    fn durable(&self, sequence: u64) -> Boxed<Result<(), NotDurable>>;

    /// Whether the last attempt failed: what is purged now would be forgotten at a restart.
    fn is_failing(&self) -> bool;
}

/// The log that nodes share does not take a purge. Worth retrying: purging twice does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// It did not get the purge, or refused it.
    #[error("the log that nodes share cannot be reached, or accepts nothing: nothing was purged")]
    Refused,
    /// It may have got the purge, but did not say so in time.
    #[error("the log that nodes share does not answer: the purge may still take effect, or not")]
    Unknown,
}

/// The purge holds on this node, but would be forgotten at a restart. The operator must fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("purged, but the log on disk cannot be written: {0}")]
pub struct NotDurable(pub String);

/// Why a purge was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// Too many regular expressions are waiting; nothing was purged. Worth retrying.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The shared log does not take it. Worth retrying.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// It holds, but not over a restart.
    #[error(transparent)]
    NotDurable(#[from] NotDurable),
}
