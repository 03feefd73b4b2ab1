//! What purges say about a stored response, and how long that can be trusted.

use rules::time::Time;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

/// A purge that has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its number.
    pub sequence: u64,
    /// How many stored responses in memory carried its tags. For other purges, a scan counts them.
    pub carried: u64,
    /// The same for stored responses below memory.
    pub below: u64,
}

/// What purges say about a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No purge covers it.
    Good,
    /// It was softly purged.
    Stale {
        /// When it became stale.
        since: Time,
        /// The number up to which this holds.
        checked: u64,
    },
    /// It was purged.
    Gone,
    /// This node has not heard of other nodes' purges for too long: the origin must confirm the response.
    Unsure,
}

/// Until when all purges of other nodes are known, in milliseconds since the Unix epoch.
#[derive(Debug)]
pub(super) struct TrustedUntil(AtomicU64);

impl Default for TrustedUntil {
    /// For ever: if nodes share no log, nothing can be missed.
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl TrustedUntil {
    /// Notes that all purges of other nodes are known until this moment.
    pub fn set(&self, until: Time) {
        self.0.store(until.as_millis(), Release);
    }

    /// Whether some may have been missed by `now`.
    pub fn is_over(&self, now: Time) -> bool {
        now.as_millis() >= self.0.load(Acquire)
    }
}
