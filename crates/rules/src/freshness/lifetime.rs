//! The freshness lifetime and its source (RFC 9111 sections 4.2.1 and 4.2.2).

use super::{LifetimeSource, Site};
use crate::{
    directives::{DirectiveSource, ResponseDirectives, list::delta_seconds},
    fields::has,
    time::Time,
};
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{EXPIRES, LAST_MODIFIED},
};
use std::time::Duration;

/// The heuristic lifetime is a tenth of the time since the last modification: "a typical setting" (RFC 9111 section
/// 4.2.2).
const HEURISTIC_PART: u32 = 10;

/// A lifetime in seconds for the cache in front of the application (`FOSHttpCache`, `reverse_proxy_ttl`). It replaces
/// `s-maxage`, which other caches would obey too. It gives a lifetime and nothing else: `Cache-Control` says what may
/// be stored.
pub const REVERSE_PROXY_TTL: HeaderName = HeaderName::from_static("x-reverse-proxy-ttl");

/// A lifetime in seconds for nginx, or a moment: `@` and seconds since the Unix epoch. It has precedence over what
/// other caches are told, and zero means that the response is not for a cache. As with [`REVERSE_PROXY_TTL`],
/// `Cache-Control` says what may be stored.
pub const ACCEL_EXPIRES: HeaderName = HeaderName::from_static("x-accel-expires");

/// What a lifetime is computed from.
pub(super) struct Given<'a> {
    pub(super) status: StatusCode,
    pub(super) fields: &'a HeaderMap,
    pub(super) directives: &'a ResponseDirectives,
    /// The field that the directives come from.
    pub(super) read_from: &'a DirectiveSource,
    /// The value of `Date`, or the time of receipt.
    pub(super) date: Time,
    /// The time of receipt.
    pub(super) now: Time,
    /// The corrected initial age (RFC 9111 section 4.2.3).
    pub(super) initial_age: Duration,
}

/// Returns the first source that gives a lifetime, in the order of [`LifetimeSource`].
pub(super) fn choose(given: &Given<'_>, site: &Site) -> (LifetimeSource, Duration) {
    if let Some(lifetime) = site.override_lifetime {
        return (LifetimeSource::Override, lifetime);
    }
    if let Some(explicit) = explicit(given) {
        return explicit;
    }
    if let Some(lifetime) = site.default_lifetime {
        return (LifetimeSource::Default, lifetime);
    }
    match heuristic(given) {
        Some(lifetime) if site.heuristic => (LifetimeSource::Heuristic, lifetime),
        _ => (LifetimeSource::None, Duration::ZERO),
    }
}

/// Adjusts a lifetime that was [chosen](choose): caps it at the site's longest, and adds the initial age if it counts
/// from receipt.
pub(super) fn counted(
    source: LifetimeSource,
    chosen: Duration,
    initial_age: Duration,
    site: &Site,
) -> Duration {
    let lifetime = site
        .longest_lifetime
        .map_or(chosen, |longest| chosen.min(longest));
    match source {
        // The site's lifetime is for what arrives here, as nginx's is: all of it is left at receipt, however old the
        // response is. Otherwise a page that takes longer than its lifetime, or comes from a cache or from a clock that
        // is behind, would never be fresh.
        LifetimeSource::Override | LifetimeSource::Default if !lifetime.is_zero() => {
            lifetime.saturating_add(initial_age)
        }
        _ => lifetime,
    }
}

/// The lifetime that the origin gives explicitly (RFC 9111 section 4.2.1).
fn explicit(given: &Given<'_>) -> Option<(LifetimeSource, Duration)> {
    let directives = given.directives;
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    if given.read_from.is_targeted() {
        let lifetime = directives.s_maxage.or(directives.max_age)?;
        return Some((LifetimeSource::Targeted, seconds(lifetime)));
    }
    if let Some(lifetime) = reverse_proxy_ttl(given.fields) {
        return Some((LifetimeSource::ReverseProxyTtl, seconds(lifetime)));
    }
    if let Some(lifetime) = accel_expires(given) {
        return Some((LifetimeSource::AccelExpires, lifetime));
    }
    if let Some(lifetime) = directives.s_maxage {
        return Some((LifetimeSource::SMaxAge, seconds(lifetime)));
    }
    if let Some(lifetime) = directives.max_age {
        return Some((LifetimeSource::MaxAge, seconds(lifetime)));
    }
    let lifetime = expires(given.fields, given.date, given.now)?;
    Some((LifetimeSource::Expires, lifetime))
}

/// The least value of [`REVERSE_PROXY_TTL`]. A malformed value is zero, as with `s-maxage`.
fn reverse_proxy_ttl(fields: &HeaderMap) -> Option<u32> {
    if !has(fields, &REVERSE_PROXY_TTL) {
        return None;
    }
    let lines = fields.get_all(REVERSE_PROXY_TTL).iter();
    lines
        .map(|line| delta_seconds(line.as_bytes().trim_ascii()).unwrap_or(0))
        .min()
}

/// The least value of [`ACCEL_EXPIRES`]. A malformed value is zero.
fn accel_expires(given: &Given<'_>) -> Option<Duration> {
    if !has(given.fields, &ACCEL_EXPIRES) {
        return None;
    }
    let read = |value: &[u8]| match value.strip_prefix(b"@") {
        Some(moment) => {
            // `parse` accepts a sign before a number; here there must be none.
            let is_number = moment.first().is_some_and(u8::is_ascii_digit);
            let moment = std::str::from_utf8(moment).ok().filter(|_| is_number)?;
            let left = Time::from_secs(moment.parse().ok()?).since(given.now);
            // A moment is the same for every clock and every cache: however old the response is, all of that is left.
            let lifetime = || left.saturating_add(given.initial_age);
            (!left.is_zero()).then(lifetime)
        }
        None => Some(Duration::from_secs(delta_seconds(value)?.into())),
    };
    let lines = given.fields.get_all(ACCEL_EXPIRES).iter();
    lines
        .map(|line| read(line.as_bytes().trim_ascii()).unwrap_or_default())
        .min()
}

/// `Expires` minus `Date`; `None` without `Expires`. If it is not a date, or several lines differ, it has expired
/// already (RFC 9111 sections 5.3 and 4.2.1).
fn expires(fields: &HeaderMap, date: Time, now: Time) -> Option<Duration> {
    if !has(fields, &EXPIRES) {
        return None;
    }
    let mut lines = fields.get_all(EXPIRES).iter();
    let first = lines.next()?;
    if lines.any(|other| other != first) {
        return Some(Duration::ZERO);
    }
    let expires = Time::parse(first.as_bytes(), now);
    Some(expires.map_or(Duration::ZERO, |expires| expires.since(date)))
}

/// The heuristic lifetime: a part of the time from `Last-Modified` to `Date`, or to receipt if `Date` lies in the
/// future, for responses that may be stored without explicit freshness (RFC 9111 section 4.2.2).
fn heuristic(given: &Given<'_>) -> Option<Duration> {
    if !is_heuristically_cacheable(given.status) && !given.directives.public {
        return None;
    }
    let modified = given.fields.get(LAST_MODIFIED)?;
    let modified = Time::parse(modified.as_bytes(), given.now)?;
    let lifetime = given.date.min(given.now).since(modified) / HEURISTIC_PART;
    (!lifetime.is_zero()).then_some(lifetime)
}

/// Whether the origin says explicitly how long the response is fresh, even if for no time at all (RFC 9111 section
/// 4.2.1).
pub fn has_explicit(
    fields: &HeaderMap,
    directives: &ResponseDirectives,
    read_from: &DirectiveSource,
) -> bool {
    directives.s_maxage.is_some()
        || directives.max_age.is_some()
        || (!read_from.is_targeted()
            && [EXPIRES, REVERSE_PROXY_TTL, ACCEL_EXPIRES]
                .iter()
                .any(|name| has(fields, name)))
}

/// Whether the status is heuristically cacheable (RFC 9110 section 15.1).
pub const fn is_heuristically_cacheable(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    )
}
