//! Report: what an answer says about how it was made, and what is recorded of that: `Cache-Status`, counters, the
//! access log.

mod recorded;

pub use recorded::{is_ours, note, of_listener, refused, unanswered};

use crate::{
    ask::Ask,
    cache::Worker,
    heads,
    outcome::{Detail, Outcome},
    policy::{Report, Site},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rules::status::{Handled, Member};
use std::rc::Rc;

/// The field of RFC 9211.
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Adds `Cache-Status` and the site's other fields that say how the answer was made.
pub fn fields(
    worker: &Worker,
    fields: &mut HeaderMap,
    site: &Site,
    status: StatusCode,
    outcome: &Outcome,
    ask: Option<&Ask>,
) {
    let Report {
        cache_status,
        key,
        x_cache,
        node,
    } = &site.report;
    if *cache_status {
        let key = ask.filter(|_| *key).map(|ask| ask.key.as_bytes());
        let value = self::cache_status(worker, site, status, outcome, key);
        // Caches append: the last member is the one nearest to the client (RFC 9211 section 2).
        heads::add(fields, CACHE_STATUS, Rc::unwrap_or_clone(value));
    } else {
        heads::clear_unset(fields, &CACHE_STATUS);
    }
    if let Some(name) = x_cache {
        fields.insert(name, HeaderValue::from_static(outcome.nginx_word()));
    }
    if let Some((name, value)) = node {
        fields.insert(name, value.clone());
    }
}

/// Returns our member of `Cache-Status`, with the key if that is given.
#[inline]
pub fn cache_status(
    worker: &Worker,
    site: &Site,
    status: StatusCode,
    outcome: &Outcome,
    key: Option<&[u8]>,
) -> Rc<HeaderValue> {
    let detail = outcome.detail.as_ref().map(Detail::token);
    let member = Member {
        name: &site.name,
        handled: without_same_status(outcome.handled, status),
        ttl: outcome.ttl,
        key,
        detail,
    };
    match member {
        Member {
            handled: Handled::Hit,
            ttl: Some(ttl @ 0..),
            key: None,
            detail: None,
            name,
        } => {
            let mut values = worker.field_values.borrow_mut();
            values.hit(name, ttl.cast_unsigned(), || member.to_value())
        }
        Member {
            handled: handled @ Handled::Forwarded { .. },
            ttl,
            key: None,
            name,
            ..
        } => {
            let mut values = worker.field_values.borrow_mut();
            values.forwarded(name, (handled, ttl, detail), || member.to_value())
        }
        _ => member.to_value().into(),
    }
}

/// Leaves out `fwd-status` if it is the status that is sent (RFC 9211 section 2.3).
fn without_same_status(handled: Handled, sent: StatusCode) -> Handled {
    match handled {
        Handled::Forwarded {
            why,
            status: Some(status),
            stored,
            collapsed,
        } if status == sent.as_u16() => Handled::Forwarded {
            why,
            status: None,
            stored,
            collapsed,
        },
        other => other,
    }
}
