//! What the program's log is told of the stream.

use crate::purge::Position;
use std::fmt;

/// A change of the stream's state as this node sees it, for the program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// All purges on other nodes are known: what is kept is used.
    Following,
    /// The server cannot be asked, for this reason. Trying again.
    Lost(String),
    /// The server does not record how far this node has read, for this reason. Trying again. Nobody could wait for a
    /// node that says nothing, so this counts as hearing nothing.
    Unreported(String),
    /// Nothing has been heard for so long that what is kept is validated before it is used.
    Distrusted,
    /// Purges may have been missed for good: everything kept counts as purged.
    Forgot(Missed),
    /// Entries cannot be read, because a newer version wrote them or they are not ours: everything is purged.
    Unreadable {
        /// The position of the first of them.
        first: Position,
        /// How many were read together.
        count: usize,
    },
    /// Too many invalidations wait for the server: instead of them, everything is purged on all nodes.
    Overflow,
}

/// How entries were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// They were trimmed before this node read them, or deleted, and others already follow.
    Trimmed,
    /// The stream was deleted: by hand, together with everything, or by a server that restarted without it.
    Deleted,
    /// The server has an older stream than before: a failover, or a restart from an old copy. Everything is purged on
    /// all nodes, because others may not have seen what was lost.
    WentBack,
}

/// Gets the events. Called on the stream's own thread, so it must not wait.
pub type Hook = Box<dyn Fn(&Event) + Send + Sync>;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Following => f.write_str("following the shared purge log"),
            Self::Lost(why) => write!(f, "the shared purge log cannot be read, trying again: {why}"),
            Self::Unreported(why) => write!(
                f,
                "the shared purge log can be read, but this node cannot note how far it has read, trying again; until then, stored responses will be validated before use: {why}"
            ),
            Self::Distrusted => f.write_str(
                "no news of the shared purge log: stored responses are validated before use",
            ),
            Self::Forgot(missed) => write!(f, "{missed}: everything stored counts as purged"),
            Self::Unreadable { first, count: 1 } => write!(
                f,
                "entry {first} of the shared purge log cannot be read: everything is purged"
            ),
            Self::Unreadable { first, count } => write!(
                f,
                "{count} entries of the shared purge log, from {first} on, cannot be read: everything is purged"
            ),
            Self::Overflow => f.write_str(
                "too many invalidations wait for the shared purge log: everything will be purged on all nodes",
            ),
        }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trimmed => {
                "parts of the shared purge log were trimmed or deleted before they were read here"
            }
            Self::Deleted => "the shared purge log was deleted",
            Self::WentBack => "the shared purge log is older than it was",
        })
    }
}
