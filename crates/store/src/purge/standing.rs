//! What purges say of a stored response, and for how long that is to be believed.

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
    /// How many stored responses in memory carried the tags; of other purges a scan tells.
    pub carried: u64,
    /// How many below memory.
    pub below: u64,
}

/// What purges say of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Good,
    /// It was purged softly.
    Stale {
        /// Stale from then on.
        since: Time,
        /// The number up to which this holds.
        checked: u64,
    },
    /// It was purged.
    Gone,
    /// This node has not heard of purges elsewhere for too long: the origin must say.
    Unsure,
}

/// Until when all purges elsewhere are known, in milliseconds since the Unix epoch.
#[derive(Debug)]
pub(super) struct TrustedUntil(AtomicU64);

impl Default for TrustedUntil {
    /// For ever: where nodes share no log, nothing can be missed.
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl TrustedUntil {
    /// All purges elsewhere are known until this moment.
    pub fn set(&self, until: Time) {
        self.0.store(until.as_millis(), Release);
    }

    /// Whether some may have been missed by `now`.
    pub fn is_over(&self, now: Time) -> bool {
        now.as_millis() >= self.0.load(Acquire)
    }
}
