//! The initial age of a response (RFC 9111 section 4.2.3).

use crate::{directives::list::delta_seconds, fields::has, time::Time};
use http::{
    HeaderMap,
    header::{AGE, DATE},
};
use std::time::Duration;

/// Returns the value of `Date`; `None` if it is absent or invalid. The time of receipt stands for it then (RFC 9110
/// section 6.6.1).
pub(super) fn date(fields: &HeaderMap, response_time: Time) -> Option<Time> {
    Time::parse(fields.get(DATE)?.as_bytes(), response_time)
}

/// Computes `corrected_initial_age` in milliseconds, conservatively: the greater of the apparent age and the corrected
/// `Age`.
pub(super) fn initial_ms(
    fields: &HeaderMap,
    date: Option<Time>,
    request_time: Time,
    response_time: Time,
) -> u64 {
    let delay = response_time.since(request_time);
    let corrected = Duration::from_secs(value(fields)).saturating_add(delay);
    let apparent = date.map_or(Duration::ZERO, |date| {
        apparent(date, request_time, response_time)
    });
    u64::try_from(corrected.max(apparent).as_millis()).unwrap_or(u64::MAX)
}

/// How far `Date` may lie before the moment at which a response was made: it has whole seconds, and some servers
/// (Tomcat, for one) renew it only once a second.
const DATE_LAG: Duration = Duration::from_secs(2);

/// The time from `Date` to receipt; zero if the response may have been made during the exchange.
///
/// In that case `Date` says nothing that the measured delay does not say better, and a response with a lifetime of one
/// second would be stale on arrival. So the corrected age stands alone, as section 4.2.3 allows.
fn apparent(date: Time, request_time: Time, response_time: Time) -> Duration {
    if date.plus(DATE_LAG) > request_time {
        return Duration::ZERO;
    }
    response_time.since(date)
}

/// The seconds in the first member of `Age`; zero if that is absent or invalid (RFC 9111 section 5.1).
fn value(fields: &HeaderMap) -> u64 {
    if !has(fields, &AGE) {
        return 0;
    }
    fields
        .get_all(AGE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .find(|member| !member.is_empty())
        .and_then(delta_seconds)
        .map_or(0, u64::from)
}
