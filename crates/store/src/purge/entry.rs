//! An entry of the log of purges, and the interface to what keeps entries over a restart.

use super::{Position, Purge};
use rules::time::Time;
use std::fmt;

/// One entry of the log, as it is kept on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number on this node.
    pub sequence: u64,
    /// When it took effect.
    pub at: Time,
    /// Its position in the shared log, if it came from there.
    pub position: Option<Position>,
    /// What was purged.
    pub purge: Purge,
}

/// Keeps the log over a restart. Called under the log's lock, in order: it must not wait.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Queues an entry to be written.
    fn append(&self, entry: &Entry);
    /// Allows everything up to `sequence` to be forgotten.
    fn retire(&self, sequence: u64);
}
