//! Whether a stored response may answer a request at `now` (RFC 9111 section 4, 4.2.4, 5.2.1; RFC 5861).

use crate::{directives::RequestDirectives, freshness::Facts, time::Time};
use std::time::Duration;

/// The site's say on reuse. Plain values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Whether a client's `no-cache`, `max-age`, `min-fresh` and `Pragma` are obeyed. Off: they are ignored.
    pub client_may_force: bool,
    /// How long past its lifetime a response may be sent when the origin cannot be reached (RFC 9111 section 4.2.4), seconds.
    pub unreachable: u32,
}

/// The judgement, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Fresh: answer, with this much lifetime left.
    Fresh(Duration),
    /// Stale, but may be sent now.
    Stale(StaleReason),
    /// Must be validated with the origin first.
    Validate(ValidateReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaleReason {
    /// Inside the window: send it, and refresh in the background.
    WhileRevalidate,
    /// The client's `max-stale` accepts it.
    MaxStale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValidateReason {
    /// Past its lifetime.
    Expired,
    /// The response's own `no-cache`.
    NoCache,
    /// The request's `no-cache` or `Pragma`.
    RequestNoCache,
    /// The request's `max-age` or `min-fresh` wants a younger one.
    RequestAge,
}

/// Why the origin did not give a usable answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It answered 500, 502, 503 or 504 (RFC 5861 section 4).
    Status,
    /// It could not be reached, or gave no complete head in time: the cache is disconnected (RFC 9111 section 4.2.4).
    Unreachable,
}

/// Judges one stored response for one request. On the path of a hit: no allocation.
pub fn judge(facts: &Facts, request: &RequestDirectives, site: &Site, now: Time) -> Verdict {
    todo!()
}

/// Whether the stored response may be sent although the origin failed. Also honours the request's `stale-if-error`.
pub fn on_failure(
    facts: &Facts,
    request: &RequestDirectives,
    site: &Site,
    failure: Failure,
    now: Time,
) -> bool {
    todo!()
}
