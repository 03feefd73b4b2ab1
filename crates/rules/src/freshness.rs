//! Lifetime and age: all arithmetic on time (RFC 9111 section 4.2).

use crate::{directives::ResponseDirectives, time::Time};
use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// Where a lifetime came from, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The site forces it, whatever the origin says.
    Override,
    /// A targeted field's `s-maxage` or `max-age` (RFC 9213).
    Targeted,
    SMaxAge,
    MaxAge,
    Expires,
    /// The site's default for answers without explicit freshness.
    Default,
    /// 10 % of the time since `Last-Modified` (RFC 9111 section 4.2.2).
    Heuristic,
    /// Nothing gives a lifetime: stale from the first moment.
    None,
}

impl Source {
    /// Whether the origin itself said so (RFC 9111 section 4.2: explicit).
    pub const fn is_explicit(self) -> bool {
        matches!(
            self,
            Self::Targeted | Self::SMaxAge | Self::MaxAge | Self::Expires
        )
    }
}

/// What judgement of a stored response needs, computed once when it is stored. Small and `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// When the response (its head) was received.
    pub response_time: Time,
    /// The value of `Date`, or the time of receipt.
    pub date: Time,
    /// Corrected initial age (RFC 9111 section 4.2.3), milliseconds.
    pub initial_age_ms: u32,
    /// Freshness lifetime in milliseconds (site defaults may be below a second).
    pub lifetime_ms: u64,
    pub source: Source,
    /// Seconds past the lifetime in which a stale answer may be sent while a refresh runs.
    pub stale_while_revalidate: Option<u32>,
    /// Seconds past the lifetime in which a stale answer may be sent when the origin fails (RFC 5861 section 4).
    pub stale_if_error: Option<u32>,
    /// `no-cache` without names: never reused without validation.
    pub no_cache: bool,
    /// `must-revalidate`, `proxy-revalidate`, or a bare `s-maxage`: never stale unless an explicit `stale-*` stands beside it.
    pub must_revalidate: bool,
    /// RFC 8246.
    pub immutable: bool,
}

impl Facts {
    /// Current age at `now` (RFC 9111 section 4.2.3).
    pub fn age(&self, now: Time) -> Duration {
        todo!()
    }
    /// How long the response stays fresh from `now`; `None` when it is stale.
    pub fn remaining(&self, now: Time) -> Option<Duration> {
        todo!()
    }
    /// How long it has been stale at `now`; zero when fresh.
    pub fn staleness(&self, now: Time) -> Duration {
        todo!()
    }
}

/// The site's say on lifetimes, already chosen for this route and status. Plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Lifetime where the origin gives none explicitly.
    pub default_lifetime: Option<Duration>,
    /// Lifetime whatever the origin says (also over no-store, private and no-cache: `force`).
    pub override_lifetime: Option<Duration>,
    /// Windows where the origin gives none.
    pub stale_while_revalidate: Option<u32>,
    pub stale_if_error: Option<u32>,
    /// Whether the heuristic of RFC 9111 section 4.2.2 may be used.
    pub heuristic: bool,
}

/// Computes the facts of a response received at `response_time` for a request sent at `request_time`.
pub fn facts(
    status: StatusCode,
    fields: &HeaderMap,
    directives: &ResponseDirectives,
    targeted: bool,
    site: &Site,
    request_time: Time,
    response_time: Time,
) -> Facts {
    todo!()
}
