//! For how long browsers keep an answer, if the site says so.

use crate::{
    ask::Ask,
    clock,
    outcome::Outcome,
    walk::admit::{self, Times},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, response};
use rules::{
    directives::{self, Qualified, ResponseDirectives},
    freshness::Facts,
};
use std::time::Duration;

/// An answer, as far as its lifetime is concerned.
pub(super) struct Told<'a> {
    pub(super) status: StatusCode,
    pub(super) outcome: &'a Outcome,
    pub(super) facts: &'a Facts,
    pub(super) age: Duration,
}

/// Returns the facts of an answer with this head that goes out as it came, and would be stored if there were room;
/// `None` if the site says nothing to browsers.
pub(super) fn facts(ask: &Ask, head: &response::Parts, outcome: &Outcome) -> Option<Facts> {
    if ask.policy().to_client.browser_ttl.is_none() || !outcome.is_for_all() {
        return None;
    }
    let times = Times::of(ask.now, clock::now(), &head.extensions);
    let judged = admit::judge(ask, &Method::GET, times, head.status, &head.headers);
    judged.ok().map(|storable| storable.facts)
}

/// Tells browsers to keep an answer for as long as the site says, in the place of what its application says.
///
/// An answer that caches must ask about each time, because it says so or says nothing, may be one user's, which the
/// application decides when it is asked. So a cache further on is told that it is `private`, unless it says itself that
/// it is for everybody.
pub(super) fn tell(ask: &Ask, fields: &mut HeaderMap, told: &Told<'_>) {
    let Some(browser) = ask.policy().to_client.browser_ttl else {
        return;
    };
    let Some(left) = left_to_browsers(browser, told.status, told.outcome) else {
        return;
    };
    let (said, _) = directives::response(fields, &[]);
    if ask.composed.get()
        || is_to_condition(told.status)
        || !told.outcome.is_for_all()
        || has_named_fields(&said, fields)
    {
        return;
    }
    let is_asked_about = told.facts.no_cache || told.facts.lifetime_ms == 0;
    let is_for_everybody = said.public || said.s_maxage.is_some();
    let private = if is_asked_about && !is_for_everybody {
        "private, "
    } else {
        ""
    };
    // A browser subtracts `Age` from the lifetime, so that what is left is what the site wants.
    let seconds = left + told.age.as_secs();
    if let Ok(value) = HeaderValue::try_from(format!("{private}max-age={seconds}")) {
        fields.insert(header::CACHE_CONTROL, value);
        fields.remove(header::EXPIRES);
    }
}

/// Returns for how many seconds browsers keep an answer, if the site says that they keep some for `browser`. An error
/// is kept no longer than it is fresh here, since it may be repaired. `None` if the origin is to say, because the
/// error's lifetime is not known.
fn left_to_browsers(browser: Duration, status: StatusCode, outcome: &Outcome) -> Option<u64> {
    let browser = browser.as_secs();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || browser == 0 {
        return Some(browser);
    }
    let left = outcome.ttl?.max(0).cast_unsigned();
    Some(browser.min(left))
}

/// Whether an answer has fields that are for its client alone (`private="…"`), or that must not be used again without
/// asking (`no-cache="…"`). Its own `Cache-Control` tells that to caches on its way. A stored response has such fields
/// only if a targeted field tells us something else.
fn has_named_fields(said: &ResponseDirectives, fields: &HeaderMap) -> bool {
    let mut named = [&said.no_cache, &said.private]
        .into_iter()
        .flat_map(Qualified::names);
    named.any(|name| fields.contains_key(name))
}

/// Whether a status answers a condition or range of the request, whatever is stored.
const fn is_to_condition(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE
    )
}
