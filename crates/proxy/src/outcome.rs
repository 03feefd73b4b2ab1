//! The one record of what happened to a request: answers, counters and the access log all render the same value.

use crate::{content_key::Unkeyed, error::Failure, purge_clients::Operation};
use http::{HeaderValue, Method, StatusCode, Version};
use rules::{
    reuse::{StaleReason, ValidateReason},
    status::{Forward, Handled},
    storable::NotStorable,
};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::SyncSender,
    },
    time::{Duration, Instant},
};

/// Why, beyond RFC 9211's own words: the `detail` of `Cache-Status`.
#[derive(Clone, Debug)]
pub enum Detail {
    /// The answer was not stored.
    NotStored(NotStorable),
    /// It was not stored for a reason of ours.
    Unkept(Unkept),
    /// Something stored was not used before the origin confirmed it.
    Validated(ValidateReason),
    /// Something stored was not used before the origin confirmed it: purges on other nodes may have been missed.
    Unsure,
    /// It was sent stale, and was allowed to be.
    Stale(StaleReason),
    /// Sent stale because the origin failed: the failure's own token.
    StaleOnFailure(&'static str),
    /// The site says so.
    Bypass(Bypass),
    /// We answered ourselves.
    Failed(Failure),
    /// The listener answered, without asking: why, in one token.
    Refused(&'static str),
    /// It was a purge, which was carried out.
    Purged(Operation),
    /// It was a purge, which was not: why, in one token.
    Unpurged(&'static str),
}

/// Why a storable answer was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkept {
    /// Larger than the route stores.
    TooLarge,
    /// Its key was invalidated while it was fetched.
    Invalidated,
}

/// Which rule of the site bypassed the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bypass {
    /// Nothing is stored on this route (`cache = false`).
    Route,
    /// A cookie of the request.
    Cookie,
    /// A header field of the request.
    Header,
    /// The path.
    Path,
    /// The method.
    Method,
    /// A query parameter.
    Query,
    /// The client wants to switch protocols (RFC 9110 section 7.8); no rule, but nothing a store could answer.
    Upgrade,
    /// The request brings content with a method that has none.
    Content,
    /// Its content, or what it asks of a GraphQL service.
    Unkeyed(Unkeyed),
    /// Which group of users its sender belongs to is not known (`user_context`).
    Group,
}

impl Detail {
    /// The reason as `detail` of `Cache-Status` spells it.
    pub fn token(&self) -> &'static str {
        match self {
            Self::NotStored(why) => why.token(),
            Self::Unkept(Unkept::TooLarge) => "too-large",
            Self::Unkept(Unkept::Invalidated) => "invalidated",
            Self::Validated(why) => why.token(),
            Self::Unsure => "purges-unknown",
            Self::Stale(why) => why.token(),
            Self::StaleOnFailure(why) | Self::Refused(why) | Self::Unpurged(why) => why,
            Self::Bypass(why) => why.token(),
            Self::Failed(failure) => failure.detail(),
            Self::Purged(Operation::Exact) => "purge-exact",
            Self::Purged(Operation::Tags) => "purge-tags",
            Self::Purged(Operation::Wildcard) => "purge-wildcard",
            Self::Purged(Operation::All) => "purge-all",
        }
    }
}

impl Bypass {
    /// The rule as `detail` of `Cache-Status` spells it.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Cookie => "cookie",
            Self::Header => "header",
            Self::Path => "path",
            Self::Method => "method",
            Self::Query => "query",
            Self::Upgrade => "upgrade",
            Self::Content => "content",
            Self::Unkeyed(why) => why.token(),
            Self::Group => "group-unknown",
        }
    }
}

/// What happened to one request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Hit, forwarded and why, or answered by ourselves (RFC 9211 section 2).
    pub handled: Handled,
    /// Remaining lifetime of what was sent, in seconds; negative when stale.
    pub ttl: Option<i64>,
    /// Why, where there is more to say.
    pub detail: Option<Detail>,
    /// From the request to the origin's final head.
    pub origin_time: Option<Duration>,
}

impl Outcome {
    /// Answered by ourselves, and that is all.
    pub const OWN: Self = Self {
        handled: Handled::Own,
        ttl: None,
        detail: None,
        origin_time: None,
    };

    /// Whether the answer is for everybody: it is stored, or would be if there were room.
    pub const fn is_for_all(&self) -> bool {
        match self.handled {
            Handled::Hit => true,
            Handled::Forwarded {
                stored, collapsed, ..
            } => {
                stored
                    || collapsed
                    || matches!(
                        self.detail,
                        Some(Detail::Unkept(_) | Detail::StaleOnFailure(_))
                    )
            }
            Handled::Own => false,
        }
    }

    /// Answered from the store.
    pub const fn hit(ttl: i64) -> Self {
        Self {
            handled: Handled::Hit,
            ttl: Some(ttl),
            detail: None,
            origin_time: None,
        }
    }

    /// Forwarded for `why`.
    pub const fn forwarded(why: Forward) -> Self {
        let handled = Handled::Forwarded {
            why,
            status: None,
            stored: false,
            collapsed: false,
        };
        Self {
            handled,
            ttl: None,
            detail: None,
            origin_time: None,
        }
    }

    /// Answered by ourselves.
    pub const fn failed(failure: Failure) -> Self {
        Self {
            handled: Handled::Own,
            ttl: None,
            detail: Some(Detail::Failed(failure)),
            origin_time: None,
        }
    }

    /// nginx's word for it (`$upstream_cache_status`).
    pub fn nginx_word(&self) -> &'static str {
        match (self.handled, &self.detail) {
            (Handled::Hit, Some(Detail::Stale(StaleReason::WhileRevalidate))) => "UPDATING",
            (Handled::Hit, Some(Detail::Stale(_))) | (_, Some(Detail::StaleOnFailure(_))) => {
                "STALE"
            }
            (Handled::Hit, _) => "HIT",
            (
                Handled::Forwarded {
                    why,
                    status: Some(304),
                    ..
                },
                _,
            ) if may_validate(why) => "REVALIDATED",
            (Handled::Forwarded { why, .. }, _) => match why {
                Forward::Bypass | Forward::Method => "BYPASS",
                Forward::Stale | Forward::Request => "EXPIRED",
                Forward::UriMiss | Forward::VaryMiss | Forward::Miss | Forward::Partial => "MISS",
            },
            (Handled::Own, _) => "NONE",
        }
    }
}

/// Kinds of hits counted apart.
pub const HIT_KINDS: [&str; 3] = ["fresh", "stale", "stale-on-failure"];

/// Forward reasons, in the order of [`Counters::forwarded`].
pub const FORWARDS: [Forward; 8] = [
    Forward::Bypass,
    Forward::Method,
    Forward::UriMiss,
    Forward::VaryMiss,
    Forward::Miss,
    Forward::Request,
    Forward::Stale,
    Forward::Partial,
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

/// Adds one. A worker is its counters' only writer, so a load and a store are enough: no locked instruction.
pub fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Counters {
    /// Counts an answer.
    pub fn count(&self, outcome: &Outcome, status: StatusCode) {
        match outcome.handled {
            // It went forward in vain: the store answered.
            Handled::Forwarded { .. }
                if matches!(outcome.detail, Some(Detail::StaleOnFailure(_))) =>
            {
                self.hit(outcome);
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
    pub fn left(&self, why: Option<Forward>) {
        bump(&self.clients_left);
        if let Some(why) = why {
            self.forwarded(why);
        }
    }

    fn forwarded(&self, why: Forward) {
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

/// Whether a 304 to a request forwarded for this reason confirms something stored. Where nothing is, it answers the client's own
/// condition.
const fn may_validate(why: Forward) -> bool {
    matches!(
        why,
        Forward::VaryMiss | Forward::Request | Forward::Stale | Forward::Partial
    )
}

/// One line of the access log, before it is text.
#[derive(Debug)]
pub struct Record {
    /// The peer, after the PROXY protocol, or whom it speaks for where it is trusted; `None` where nobody said so on a Unix socket.
    pub client: Option<IpAddr>,
    /// The request's method.
    pub method: Method,
    /// Path and query as they are keyed and sent to the origin.
    pub target: String,
    /// The normalised authority of the request.
    pub host: String,
    /// The client's version of HTTP.
    pub version: Version,
    /// The status sent.
    pub status: StatusCode,
    /// The request's `Referer`.
    pub referer: Option<HeaderValue>,
    /// The request's `User-Agent`.
    pub user_agent: Option<HeaderValue>,
    /// [`Outcome::nginx_word`].
    pub cache: &'static str,
    /// [`Detail::token`].
    pub detail: Option<&'static str>,
    /// As [`Outcome::origin_time`].
    pub origin_time: Option<Duration>,
    /// When the request came, milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// From the request to the end of the answer's body.
    pub took: Duration,
    /// Bytes of the body handed to the connection.
    pub bytes: u64,
}

/// Completes a [`Record`] when the body has ended and hands it to the writer of the access log.
#[derive(Debug)]
pub struct Ending {
    record: Option<Record>,
    began: Instant,
    log: SyncSender<Record>,
    counters: Arc<Counters>,
}

impl Ending {
    /// `record` goes to `log` when this is dropped, on the worker that `counters` belong to; where it cannot go there, it is
    /// counted as lost.
    pub fn new(
        record: Record,
        began: Instant,
        log: SyncSender<Record>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            record: Some(record),
            began,
            log,
            counters,
        }
    }

    /// Counts bytes handed to the connection.
    pub fn sent(&mut self, bytes: u64) {
        if let Some(record) = &mut self.record {
            record.bytes += bytes;
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.took = self.began.elapsed();
            // A full queue loses the record rather than make a client wait for a log.
            if self.log.try_send(record).is_err() {
                bump(&self.counters.log_lost);
            }
        }
    }
}

#[cfg(test)]
mod tests;
