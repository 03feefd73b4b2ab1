//! What the log counts.

use super::{Purge, What};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kinds of purges, as [`Statistics::applied`] counts them.
pub const KINDS: [&str; 6] = ["url", "prefix", "tag", "host", "pattern", "everything"];

/// A snapshot for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Purges that took effect on this node, by kind, including invalidations by applications and purges from other
    /// nodes.
    pub applied: [u64; KINDS.len()],
    /// How many of them were soft.
    pub soft: u64,
    /// Stored responses in memory that they touched, as far as these were counted for somebody.
    pub touched: u64,
    /// Stored responses that the sweep has dropped.
    pub swept: u64,
    /// The number of the last purge.
    pub sequence: u64,
    /// Names remembered.
    pub names: u64,
    /// Expressions remembered.
    pub patterns: u64,
    /// Whether purges on other nodes may have been missed.
    pub is_unsure: bool,
}

/// The counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(super) struct Counts {
    applied: [AtomicU64; KINDS.len()],
    soft: AtomicU64,
    touched: AtomicU64,
    swept: AtomicU64,
}

impl Counts {
    /// Counts a purge that took effect on this node.
    pub fn applied(&self, purge: &Purge) {
        let kind = match purge.what {
            What::Url(_) => 0,
            What::Prefix { .. } => 1,
            What::Tags(_) => 2,
            What::Host(_) => 3,
            What::Pattern(_) => 4,
            What::Everything => 5,
        };
        if let Some(count) = self.applied.get(kind) {
            count.fetch_add(1, Relaxed);
        }
        self.soft.fetch_add(u64::from(purge.soft), Relaxed);
    }

    /// Counts stored responses that were touched, as reported to the caller.
    pub fn touched(&self, count: u64) {
        self.touched.fetch_add(count, Relaxed);
    }

    /// Counts stored responses that the sweep has dropped.
    pub fn swept(&self, count: u64) {
        self.swept.fetch_add(count, Relaxed);
    }

    /// Returns the counters. The rest of the snapshot is filled in by the log.
    pub fn read(&self) -> Statistics {
        Statistics {
            applied: self.applied.each_ref().map(|count| count.load(Relaxed)),
            soft: self.soft.load(Relaxed),
            touched: self.touched.load(Relaxed),
            swept: self.swept.load(Relaxed),
            ..Statistics::default()
        }
    }
}
