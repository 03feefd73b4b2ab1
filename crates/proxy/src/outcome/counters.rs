//! What a worker counts of the requests it answers.

use super::{Detail, Outcome, may_validate};
use http::StatusCode;
use rules::status::{ForwardReason, Handled};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kinds of hits counted apart.
pub const HIT_KINDS: [&str; 3] = ["fresh", "stale", "stale-on-failure"];

/// Forward reasons, in the order of [`Counters::forwarded`].
pub const FORWARDS: [ForwardReason; 8] = [
    ForwardReason::Bypass,
    ForwardReason::Method,
    ForwardReason::UriMiss,
    ForwardReason::VaryMiss,
    ForwardReason::Miss,
    ForwardReason::Request,
    ForwardReason::Stale,
    ForwardReason::Partial,
];

/// One worker's counters. Only that worker writes; anybody reads.
#[derive(Debug, Default)]
pub struct Counters {
    /// By [`HIT_KINDS`].
    pub hits: [AtomicU64; 3],
    /// By [`FORWARDS`].
    pub forwarded: [AtomicU64; 8],
    /// Answers of our own: errors, redirects, refusals.
    pub own: AtomicU64,
    /// Requests whose client left before an answer began.
    pub clients_left: AtomicU64,
    /// Forwarded answers that were stored.
    pub stored: AtomicU64,
    /// Requests that followed the fetch of another.
    pub collapsed: AtomicU64,
    /// Stored responses that an origin confirmed with 304.
    pub validated: AtomicU64,
    /// Background fetches for what was sent stale.
    pub refreshes: AtomicU64,
    /// Pages that were read for what they include.
    pub pages_read: AtomicU64,
    /// Includes of composed pages.
    pub fragments: AtomicU64,
    /// Includes that came to nothing.
    pub fragments_failed: AtomicU64,
    /// Bodies that began to be stored.
    pub fills: AtomicU64,
    /// Bodies that were given up before they were whole.
    pub fills_failed: AtomicU64,
    /// Invalidations by answers to unsafe requests (RFC 9111 section 4.4).
    pub invalidations: AtomicU64,
    /// Purges over the listeners, by clients in their own words.
    pub purges: AtomicU64,
    /// Such purges from clients that may not.
    pub purges_denied: AtomicU64,
    /// Fetches without a usable answer.
    pub origin_errors: AtomicU64,
    /// By status class, 1xx to 5xx.
    pub statuses: [AtomicU64; 5],
    /// Access log records that were lost because the writer did not keep up.
    pub log_lost: AtomicU64,
}

impl Counters {
    /// Counts an answer.
    pub fn count(&self, outcome: &Outcome, status: StatusCode) {
        match outcome.handled {
            // It went forward in vain, or whom it followed did: the store answered.
            Handled::Forwarded { collapsed, .. } if outcome.is_on_failure() => {
                self.hit(outcome);
                if collapsed {
                    bump(&self.collapsed);
                }
            }
            Handled::Hit => self.hit(outcome),
            Handled::Own => bump(&self.own),
            Handled::Forwarded {
                why,
                stored,
                collapsed,
                status,
            } => {
                self.forwarded(why);
                for (is, counter) in [
                    (stored, &self.stored),
                    (collapsed, &self.collapsed),
                    (status == Some(304) && may_validate(why), &self.validated),
                ] {
                    if is {
                        bump(counter);
                    }
                }
            }
        }
        if let Some(class) = self
            .statuses
            .get(usize::from(status.as_u16() / 100).wrapping_sub(1))
        {
            bump(class);
        }
    }

    /// Counts a request whose client left before an answer began, forwarded for `why` by then or not at all.
    pub fn left(&self, why: Option<ForwardReason>) {
        bump(&self.clients_left);
        if let Some(why) = why {
            self.forwarded(why);
        }
    }

    fn forwarded(&self, why: ForwardReason) {
        let mut kinds = FORWARDS.iter().zip(&self.forwarded);
        if let Some((_, counter)) = kinds.find(|(forward, _)| **forward == why) {
            bump(counter);
        }
    }

    fn hit(&self, outcome: &Outcome) {
        let [fresh, stale, on_failure] = &self.hits;
        bump(match outcome.detail {
            Some(Detail::Stale(_)) => stale,
            Some(Detail::StaleOnFailure(_)) => on_failure,
            _ => fresh,
        });
    }
}

/// Adds one. A worker is its counters' only writer, so a load and a store are enough: no locked instruction.
pub fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}
