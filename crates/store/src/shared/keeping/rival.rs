//! Compares what is there with what is to be kept.

use crate::{
    Stored,
    shared::record::{self, Entry},
};
use rules::time::Time;

/// A variant that is there.
pub(super) struct There {
    pub(super) entry: Entry,
    /// When it was received, by the clock of the node that received it.
    pub(super) received: Time,
    pub(super) is_failure: bool,
}

/// What the response given to `Self::of` has in common with others that answer the same requests: the newer is right.
pub(super) struct Rival {
    variant: u64,
    pub(super) is_failure: bool,
}

impl Rival {
    pub(super) fn of(stored: &Stored) -> Self {
        Self {
            variant: record::variant(stored),
            is_failure: stored.facts.is_failure,
        }
    }

    /// A failure without the `Vary` of its page is kept beside the variants that a `Vary` selects.
    pub(super) fn is(&self, old: &There) -> bool {
        old.entry.variant == self.variant
            || old.entry.answers_for(self.variant) && old.is_failure == self.is_failure
    }
}

/// Whether what is there is older than `stored`. What was received after `now` counts as older: another node's clock is,
/// or was, ahead.
pub(super) fn is_older(there: &There, stored: &Stored, now: Time) -> bool {
    there.received < stored.facts.response_time || there.received > now
}

/// Whether what is there is newer than `stored`, which came late because its body took longer.
///
/// A response that was received after `now` does not count: another node's clock is ahead. Nor does one that is worth
/// nothing any more.
pub(super) fn is_newer(there: &There, stored: &Stored, now: Time) -> bool {
    let is_good = there.received <= now && there.entry.until > now;
    is_good && there.received > stored.facts.response_time
}
