//! Whether a stored response may answer a request at `now` (RFC 9111 section 4, 4.2.4, 5.2.1; RFC 5861).

use crate::{
    directives::RequestDirectives,
    freshness::{Facts, LifetimeSource},
    status::ForwardReason,
    time::Time,
};
use http::StatusCode;
use std::{fmt, time::Duration};

/// What the site says about reuse. Plain values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Whether a client's `no-cache`, `max-age`, `min-fresh` and `Pragma` are obeyed, and a `max-stale` that allows
    /// less than the site. If false, they are ignored.
    pub client_may_force: bool,
    /// How long past its lifetime a response may be sent when the origin cannot be reached, in seconds (RFC 9111
    /// section 4.2.4).
    pub unreachable: u32,
}

/// The judgement, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The response is fresh, with this much lifetime left: send it.
    Fresh(Duration),
    /// The response is stale, but may be sent now.
    Stale(StaleReason),
    /// The response must be validated with the origin first.
    Validate(ValidateReason),
}

/// Why a stale response may be sent. `Display` gives [`StaleReason::token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaleReason {
    /// The response is inside its window: send it, and refresh it in the background.
    WhileRevalidate,
    /// The client's `max-stale` accepts it.
    MaxStale,
}

impl StaleReason {
    /// The reason as a token for `Cache-Status`'s `detail`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::WhileRevalidate => "stale-while-revalidate",
            Self::MaxStale => "max-stale",
        }
    }

    /// Whether a fresh response is fetched in the background.
    pub const fn refreshes(self) -> bool {
        matches!(self, Self::WhileRevalidate)
    }
}

impl fmt::Display for StaleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

/// Why a response must be validated before it is sent. `Display` gives [`ValidateReason::token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValidateReason {
    /// The response is past its lifetime.
    Expired,
    /// The response's own `no-cache`.
    NoCache,
    /// The request's `no-cache` or `Pragma`.
    RequestNoCache,
    /// The response is fresh, but older than the request's `max-age`, or fresh for less than its `min-fresh`.
    RequestAge,
}

impl ValidateReason {
    /// Whether only the client asks for validation. Other clients would be answered.
    pub const fn is_the_clients(self) -> bool {
        matches!(self, Self::RequestNoCache | Self::RequestAge)
    }

    /// Why a request is forwarded for this reason (RFC 9211 section 2.2). `is_fresh` says whether the stored response
    /// is fresh.
    pub const fn forward_reason(self, is_fresh: bool) -> ForwardReason {
        if self.is_the_clients() && is_fresh {
            ForwardReason::Request
        } else {
            ForwardReason::Stale
        }
    }

    /// The reason as a token for `Cache-Status`'s `detail`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::NoCache => "no-cache",
            Self::RequestNoCache => "request-no-cache",
            Self::RequestAge => "request-age",
        }
    }
}

impl fmt::Display for ValidateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

/// Why the origin did not give a usable answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It answered with an error: 500, 502, 503 or 504 (RFC 5861 section 4), or another status that the site counts as
    /// one.
    Status,
    /// It could not be reached, or sent no complete head in time: the cache is disconnected (RFC 9111 section 4.2.4).
    Unreachable,
}

/// Whether an answer of `status` is an origin's failure. A stored response may hide a failure, unless the site names
/// other statuses (RFC 5861 section 4); a stored failure hides no other.
pub const fn is_failure(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

/// Judges one stored response for one request. It is on the path of a hit, and does not allocate.
///
/// A request's `max-age`, which a reload sends, does not lead to validation of a fresh `immutable` response (RFC 8246
/// section 2.1). A request's `no-cache` does: it is the signal that this section leaves to clients.
pub fn judge(facts: &Facts, request: &RequestDirectives, site: &Site, now: Time) -> Verdict {
    if facts.no_cache {
        return Verdict::Validate(ValidateReason::NoCache);
    }
    if site.client_may_force && request.no_cache {
        return Verdict::Validate(ValidateReason::RequestNoCache);
    }
    let too_old = site.client_may_force && is_older(facts, request, now);
    let Some(remaining) = facts.remaining(now) else {
        return judge_stale(facts, request, *site, too_old, now);
    };
    let too_old = too_old && !facts.immutable;
    let ends_soon = request
        .min_fresh
        .is_some_and(|wanted| remaining < seconds(wanted));
    if too_old || (site.client_may_force && ends_soon) {
        return Verdict::Validate(ValidateReason::RequestAge);
    }
    Verdict::Fresh(remaining)
}

/// Judges a stale response. A client that sends `min-fresh`, or `max-age` without `max-stale`, does not accept one, nor
/// one that is staler than its `max-stale` (RFC 9111 sections 5.2.1.1 to 5.2.1.3). `max-stale` does not override
/// `must-revalidate` (section 4.2.4).
fn judge_stale(
    facts: &Facts,
    request: &RequestDirectives,
    site: Site,
    too_old: bool,
    now: Time,
) -> Verdict {
    let wants_fresh = site.client_may_force
        && (request.min_fresh.is_some()
            || (request.max_age.is_some() && request.max_stale.is_none()));
    let staleness = match facts.source {
        // Since when is not known.
        LifetimeSource::ClockSetBack => Duration::MAX,
        _ => facts.staleness(now),
    };
    let too_stale = site.client_may_force
        && request
            .max_stale
            .is_some_and(|most| most != u32::MAX && staleness > seconds(most));
    if too_old || wants_fresh || too_stale {
        return Verdict::Validate(ValidateReason::Expired);
    }
    // The window goes before `max-stale`: the answer is the same, but the window also refreshes.
    if is_within(staleness, facts.stale_while_revalidate) {
        return Verdict::Stale(StaleReason::WhileRevalidate);
    }
    if facts.must_revalidate {
        return Verdict::Validate(ValidateReason::Expired);
    }
    // A response that was never fresh is kept to be validated, and may be one user's. Another client must not open it
    // by `max-stale`.
    let accepted = request.max_stale == Some(u32::MAX) || is_within(staleness, request.max_stale);
    if accepted && facts.lifetime_ms > 0 {
        return Verdict::Stale(StaleReason::MaxStale);
    }
    Verdict::Validate(ValidateReason::Expired)
}

/// Whether the stored response may be sent although the origin failed. Also honours the request's `stale-if-error`.
///
/// A response that is still fresh, because the client asked for validation, may be sent: what the client asked is a
/// preference (RFC 9111 section 5.2.1.4). A response with `no-cache` may not be sent, nor a stale one with
/// `must-revalidate`, nor a failure, which is no better than the new one.
pub fn on_failure(
    facts: &Facts,
    request: &RequestDirectives,
    site: &Site,
    failure: Failure,
    now: Time,
) -> bool {
    if facts.no_cache || facts.is_failure {
        return false;
    }
    let window = window_on_failure(facts, request, site, failure);
    facts.remaining(now).is_some() || is_within(facts.staleness(now), Some(window))
}

/// Returns how long past its lifetime a response may be sent when the origin fails, in seconds; 0 means not at all.
/// Also honours the request's `stale-if-error` (RFC 5861 section 4). For an origin that cannot be reached, the site's
/// window is open too (RFC 9111 section 4.2.4), unless the origin named a limit.
pub fn window_on_failure(
    facts: &Facts,
    request: &RequestDirectives,
    site: &Site,
    failure: Failure,
) -> u32 {
    if facts.no_cache || facts.is_failure {
        return 0;
    }
    if facts.must_revalidate {
        return facts.stale_if_error.unwrap_or(0);
    }
    // A response that was never fresh is kept to be validated, and may be one user's. Only the origin opens a window
    // for it.
    let had_lifetime = facts.lifetime_ms > 0;
    let disconnected = match failure {
        Failure::Status => None,
        Failure::Unreachable => Some(site.unreachable),
    };
    let is_of_known_age = facts.source != LifetimeSource::ClockSetBack;
    let asked = request
        .stale_if_error
        .filter(|_| had_lifetime && is_of_known_age);
    let disconnected = disconnected.filter(|_| had_lifetime && !facts.limits_stale);
    let windows = [facts.stale_if_error, asked, disconnected];
    windows.into_iter().flatten().max().unwrap_or(0)
}

fn is_older(facts: &Facts, request: &RequestDirectives, now: Time) -> bool {
    request
        .max_age
        .is_some_and(|most| facts.age(now) > seconds(most))
}

/// Whether the staleness is within a window of this many seconds. A window of zero seconds is shut.
fn is_within(staleness: Duration, window: Option<u32>) -> bool {
    window.is_some_and(|window| window > 0 && staleness <= seconds(window))
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}

#[cfg(test)]
mod tests;
