//! Compares what is there with what is to be kept.

use crate::{
    Stored,
    purge::Standing,
    shared::record::{self, Entry},
};
use rules::{freshness::Facts, time::Time};
use std::cmp::Ordering;

/// A variant that is there.
pub(super) struct There {
    pub(super) entry: Entry,
    /// By the clock of the node that received it.
    pub(super) facts: Facts,
    /// What purges say about it.
    pub(super) standing: Standing,
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
            || old.entry.answers_for(self.variant) && old.facts.is_failure == self.is_failure
    }
}

/// Whether what is there is older than `stored`. If [dates](by_date) do not tell, what was received after `now` counts as
/// older: another node's clock is, or was, ahead.
pub(super) fn is_older(there: &There, stored: &Stored, now: Time) -> bool {
    let received = there.facts.response_time;
    by_date(there, &stored.facts, now).map_or_else(
        || received < stored.facts.response_time || received > now,
        Ordering::is_lt,
    )
}

/// Whether what is there is newer than `stored`, which came late: its body took longer, or its origin. If
/// [dates](by_date) do not tell, what was received after `now` does not count: another node's clock is ahead. Nor does
/// what is worth nothing any more.
pub(super) fn is_newer(there: &There, stored: &Stored, now: Time) -> bool {
    let received = there.facts.response_time;
    let is_good = received <= now && there.entry.until > now;
    by_date(there, &stored.facts, now).map_or_else(
        || is_good && received > stored.facts.response_time,
        Ordering::is_gt,
    )
}

/// How the origin's dates order what is there and the response with the facts `new` (RFC 9111 section 4). `None` if they
/// do not tell.
///
/// A later date keeps out what comes from another server of the application, or from another cache in front of it, whose
/// `Date` is behind. So it counts only while requests are answered with what is there: what is stale, was purged by a tag
/// or softly, or must be confirmed each time, makes room for whatever was received since. A date after `now` tells
/// nothing: the origin's clock is, or was, ahead, and every answer until then would be the older.
fn by_date(there: &There, new: &Facts, now: Time) -> Option<Ordering> {
    let old = &there.facts;
    let (old_date, new_date) = (old.date_of_origin()?, new.date_of_origin()?);
    let is_fresh = there.entry.until > now && !old.no_cache && old.remaining(now).is_some();
    let answers = is_fresh && there.standing == Standing::Good;
    let order = old_date.cmp(&new_date);
    (answers && old_date.max(new_date) <= now && order.is_ne()).then_some(order)
}

#[cfg(test)]
mod tests;
