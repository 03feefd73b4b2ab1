//! The counters of a worker for the requests that it answers.

use super::{Detail, Outcome, may_validate};
use http::StatusCode;
use rules::status::{ForwardReason, Handled};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The kinds of hits that are counted separately.
pub const HIT_KINDS: [&str; 3] = ["fresh", "stale", "stale-on-failure"];

/// The forward reasons, in the order of [`Counters::forwarded`].
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

/// One worker's counters. Only that worker writes them; any thread may read.
#[derive(Debug, Default)]
pub struct Counters {
    /// By [`HIT_KINDS`].
    pub hits: [AtomicU64; 3],
    /// By [`FORWARDS`].
    pub forwarded: [AtomicU64; 8],
    /// Answers made here: errors, redirects, refusals.
    pub own: AtomicU64,
    /// Requests whose client left before an answer began.
    pub clients_left: AtomicU64,
    /// Answers of origins that were stored, for clients and in the background.
    pub stored: AtomicU64,
    /// Requests that followed another's fetch.
    pub collapsed: AtomicU64,
    /// Stored responses that an origin confirmed with 304.
    pub validated: AtomicU64,
    /// Background fetches after stale hits.
    pub refreshes: AtomicU64,
    /// Pages that were read to find their includes.
    pub pages_read: AtomicU64,
    /// Includes of composed pages.
    pub fragments: AtomicU64,
    /// Includes that failed.
    pub fragments_failed: AtomicU64,
    /// Bodies whose storing began.
    pub fills: AtomicU64,
    /// Bodies that were given up before they were whole.
    pub fills_failed: AtomicU64,
    /// Invalidations by answers to unsafe requests (RFC 9111 section 4.4).
    pub invalidations: AtomicU64,
    /// Purges over the listeners, in the clients' own formats.
    pub purges: AtomicU64,
    /// Purges that were refused because the client is not allowed to purge.
    pub purges_denied: AtomicU64,
    /// Fetches without a usable answer.
    pub origin_errors: AtomicU64,
    /// Answers by status class, 1xx to 5xx.
    pub statuses: [AtomicU64; 5],
    /// Access log records that were lost because the writer did not keep up.
    pub log_lost: AtomicU64,
}

impl Counters {
    /// Counts an answer.
    pub fn count(&self, outcome: &Outcome, status: StatusCode) {
        match outcome.handled {
            // This request, or the one that it followed, was forwarded in vain: the store answered.
            Handled::Forwarded { collapsed, .. } if outcome.is_on_failure() => {
                self.hit(outcome);
                if collapsed {
                    bump(&self.collapsed);
                }
            }
            Handled::Hit => self.hit(outcome),
            Handled::Own => bump(&self.own),
            Handled::Forwarded { why, collapsed, .. } => {
                self.forwarded(why);
                if collapsed {
                    bump(&self.collapsed);
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

    /// Counts what a fetch that was made for `why` brought, whether or not a client waits for it: an answer with
    /// `status`, if there was one. `stored` says that it was stored, or has freshened what is stored.
    pub fn brought(&self, why: ForwardReason, status: Option<u16>, stored: bool) {
        match status {
            Some(304) if may_validate(why) => bump(&self.validated),
            Some(304) => {}
            _ if stored => bump(&self.stored),
            _ => {}
        }
    }

    /// Counts a request whose client left before an answer began, forwarded for `why` by then, or not forwarded.
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

/// Adds one. Only one worker writes the counter, so a load and a store suffice, without a locked instruction.
pub fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}
