//! Lifetime and age: all arithmetic on time (RFC 9111 section 4.2).
//!
//! The submodules are `lifetime` (sections 4.2.1 and 4.2.2), `age` (section 4.2.3) and `stale` (section 4.2.4); `facts`
//! is what is kept of all three.

mod age;
mod facts;
mod lifetime;
mod stale;

use crate::{
    directives::{DirectiveSource, ResponseDirectives},
    fields::begins_event_stream,
    reuse,
    time::Time,
};
use http::{HeaderMap, StatusCode};
use stale::Restraint;
use std::time::Duration;

pub use facts::Facts;
pub use lifetime::{ACCEL_EXPIRES, REVERSE_PROXY_TTL, has_explicit, is_heuristically_cacheable};

/// The source of a lifetime, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeSource {
    /// Forced by the site, whatever the origin says.
    Override,
    /// A targeted field's `s-maxage` or `max-age` (RFC 9213).
    Targeted,
    /// `X-Reverse-Proxy-TTL`, which Symfony's applications send to the cache in front of them ([`REVERSE_PROXY_TTL`]).
    ReverseProxyTtl,
    /// `X-Accel-Expires`, which applications behind nginx send to it ([`ACCEL_EXPIRES`]).
    AccelExpires,
    /// `s-maxage` (RFC 9111 section 5.2.2.10).
    SMaxAge,
    /// `max-age` (RFC 9111 section 5.2.2.1).
    MaxAge,
    /// `Expires` (RFC 9111 section 5.3).
    Expires,
    /// The site's default for answers without explicit freshness.
    Default,
    /// 10 % of the time since `Last-Modified` (RFC 9111 section 4.2.2).
    Heuristic,
    /// No source gives a lifetime: the response is stale from the first moment.
    None,
    /// A soft purge ended it.
    SoftPurge,
    /// The clock was set back, so that nobody knows how old the response is.
    ClockSetBack,
}

/// What the site says about lifetimes, already chosen for this route and status. Plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The lifetime if the origin gives none explicitly.
    pub default_lifetime: Option<Duration>,
    /// The lifetime whatever the origin says, `no-store`, `private` and `no-cache` included (`force`).
    pub override_lifetime: Option<Duration>,
    /// The upper bound of every lifetime, whoever gave it. With it, no stale answer is sent while a refresh runs,
    /// whoever allows that. It is for content that may change without notice.
    pub longest_lifetime: Option<Duration>,
    /// Seconds in which a stale answer may be sent while a refresh runs, if the origin does not say or is overruled.
    pub stale_while_revalidate: Option<u32>,
    /// Seconds in which a stale answer may be sent when the origin fails, if the origin does not say or is overruled.
    pub stale_if_error: Option<u32>,
    /// Whether the heuristic of RFC 9111 section 4.2.2 may be used.
    pub heuristic: bool,
}

/// Computes the facts of a response received at `response_time` for a request sent at `request_time`.
///
/// `said` are the directives that hold for this cache, and where they come from ([`crate::directives::response`]).
/// Beside those of a targeted field, `Expires` does not count (RFC 9213 section 2.2). Under [`Site::override_lifetime`]
/// the origin's `no-cache` and `must-revalidate` do not count, nor its windows for stale answers where the site gives
/// one.
pub fn facts(
    status: StatusCode,
    fields: &HeaderMap,
    said: &(ResponseDirectives, DirectiveSource),
    site: &Site,
    request_time: Time,
    response_time: Time,
) -> Facts {
    let (directives, read_from) = said;
    let date = age::date(fields, response_time);
    let initial_age_ms = age::initial_ms(fields, date, request_time, response_time);
    let initial_age = Duration::from_millis(initial_age_ms);
    let given = lifetime::Given {
        status,
        fields,
        directives,
        read_from,
        date: date.unwrap_or(response_time),
        now: response_time,
        initial_age,
    };
    let (source, lifetime) = lifetime::choose(&given, site);
    let lifetime = lifetime::counted(source, lifetime, initial_age, site);
    let restraint = Restraint::of(directives, source, begins_event_stream(fields));
    let is_failure = reuse::is_failure(status);
    // The site's windows lengthen a lifetime, but must not create one: the typical page that says nothing about caching
    // is one user's. They do not lengthen a failure either. The site stores a failure for a moment to spare its origin;
    // a window of an hour would show it to the first client that comes long after the origin has recovered.
    let lengthens = !lifetime.is_zero() && !is_failure;
    let while_revalidate = restraint.window(
        directives.stale_while_revalidate,
        site.stale_while_revalidate.filter(|_| lengthens),
    );
    let (explicit, allowed) = (
        directives.stale_if_error,
        site.stale_if_error.filter(|_| lengthens),
    );
    let if_error = restraint.window(explicit, allowed);
    Facts {
        response_time,
        date: given.date,
        initial_age_ms,
        lifetime_ms: u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX),
        source,
        stale_while_revalidate: while_revalidate.filter(|_| site.longest_lifetime.is_none()),
        stale_if_error: if_error.filter(|_| !is_failure),
        limits_stale: restraint.heeded(explicit, allowed).is_some(),
        no_cache: restraint.no_cache,
        must_revalidate: restraint.must_revalidate,
        immutable: directives.immutable,
        is_failure,
        is_weakly_known: false,
    }
}

/// Computes the corrected initial age (RFC 9111 section 4.2.3), in milliseconds, of a response with these fields,
/// received at `response_time` for a request sent at `request_time`.
pub fn initial_age_ms(fields: &HeaderMap, request_time: Time, response_time: Time) -> u64 {
    let date = age::date(fields, response_time);
    age::initial_ms(fields, date, request_time, response_time)
}

#[cfg(test)]
mod tests;
