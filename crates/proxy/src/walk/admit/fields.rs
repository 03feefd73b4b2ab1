//! The fields of an answer that is stored: as they are kept, and as the request's own client gets them.

use crate::{
    ask::Ask,
    walk::{coding, receive},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header, response};
use rules::{
    directives::{self, ResponseDirectives},
    fields, freshness,
    storable::Storable,
    surrogate,
    time::Time,
    validate,
};
use store::{Fields, Stored};

/// Fields as they are stored: without what must not be, with what a recipient must add.
pub fn stored_fields(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    received: &HeaderMap,
    at: Time,
) -> HeaderMap {
    let (directives, _) = directives::response(received, &ask.site.targets);
    let received = received.clone();
    kept_fields(ask, (status, version), storable, received, at, &directives)
}

/// As [`stored_fields`], of a response that is not needed as it was, and whose directives are known, those at least that name fields.
pub(super) fn kept_fields(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    received: HeaderMap,
    at: Time,
    directives: &ResponseDirectives,
) -> HeaderMap {
    let wants_esi = surrogate::wants_esi(&received);
    let mut kept = received;
    fields::forward(&mut kept, |name| {
        *name != header::AGE
            && !(storable.strip_set_cookie && *name == header::SET_COOKIE)
            && !fields::is_unstorable(name, directives)
    });
    complete(ask, version, &mut kept, || at);
    if wants_esi {
        kept.insert(surrogate::CONTROL, surrogate::CONTENT_ESI);
    }
    coding::vary(ask, status, &mut kept);
    kept
}

/// The fields for the request's own client, where storing takes some away that only later requests must not get: those
/// that `no-cache` or `private` names (RFC 9111 sections 5.2.2.4 and 5.2.2.7).
pub fn own_fields(ask: &Ask, head: &response::Parts, storable: Storable) -> Option<Box<HeaderMap>> {
    let same = (head.status, head.version);
    let all = || all_fields(ask, same, storable, head.headers.clone());
    storable.names_fields.then(all).map(Box::new)
}

/// As [`own_fields`], where `update` (a 304, or another part) made the fields `old` into `new`.
pub fn own_updated(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    (old, new): (&Fields, &HeaderMap),
    update: &HeaderMap,
) -> Option<Box<HeaderMap>> {
    let (directives, _) = directives::response(new, &ask.site.targets);
    directives.names_fields().then(|| {
        let mut all = old.unpack(8);
        validate::freshen_for_one(&mut all, update.clone());
        Box::new(all_fields(ask, (status, version), storable, all))
    })
}

/// All fields that a client may have.
fn all_fields(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    mut own: HeaderMap,
) -> HeaderMap {
    fields::remove_hop_by_hop(&mut own);
    own.remove(header::AGE);
    if storable.strip_set_cookie {
        own.remove(header::SET_COOKIE);
    }
    complete(ask, version, &mut own, receive::now);
    coding::vary(ask, status, &mut own);
    own
}

/// `Via`, and `Date` where the origin gave none (RFC 9110 sections 6.6.1 and 7.6.3); what is said to us alone goes.
pub fn complete(ask: &Ask, version: Version, response: &mut HeaderMap, at: impl FnOnce() -> Time) {
    let passed = &ask.site.purge.pass_tags;
    let is_for_us = |name: &HeaderName| {
        *name == surrogate::CONTROL
            || *name == freshness::REVERSE_PROXY_TTL
            || (surrogate::carries_tags(name) && !passed.contains(name))
    };
    let (mut is_dated, mut says_it_to_us) = (false, false);
    for name in response.keys() {
        is_dated |= *name == header::DATE;
        says_it_to_us |= is_for_us(name);
    }
    if says_it_to_us {
        fields::remove_where(response, is_for_us);
    }
    if !is_dated && let Ok(date) = HeaderValue::try_from(at().to_http()) {
        response.insert(header::DATE, date);
    }
    ask.site.via.append(response, version);
}

/// Freshened `fields` of what is stored as a page of fragments say so still: the body is the same, and so is what it is written in.
pub fn keep_language(stored: &Stored, fields: &mut HeaderMap) {
    if stored.has_surrogate_control() && !surrogate::wants_esi(fields) {
        fields.append(surrogate::CONTROL, surrogate::CONTENT_ESI);
    }
}
