//! The fields of an answer that is stored: as they are stored, and as the request's own client gets them.

use crate::{ask::Ask, clock, policy::is_for_us, walk::coding};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header, response};
use rules::{
    directives::{self, ResponseDirectives},
    fields::{self, has},
    storable::Storable,
    time::Time,
    validate,
};
use store::Fields;

/// What stands in a head before its fields.
#[derive(Clone, Copy, Debug)]
pub struct FirstLine {
    /// The status of the response that is stored. That of an answer which says something about it may be another.
    pub status: StatusCode,
    /// The HTTP version of the answer that came.
    pub version: Version,
}

/// The fields of a response as they are stored.
pub struct StoredFields {
    /// Without those that must not be stored, and with those that a recipient must add.
    pub fields: HeaderMap,
    /// Fields that decide how it is judged and are not among `fields`.
    pub unsent: Option<Box<Fields>>,
}

/// Returns the fields to store, of a response that was judged by all of `received`.
pub fn stored_fields(
    ask: &Ask,
    first_line: FirstLine,
    storable: Storable,
    received: &HeaderMap,
    at: Time,
) -> StoredFields {
    let (directives, _) = directives::response(received, &ask.site.targets);
    let received = received.clone();
    kept_fields(ask, first_line, storable, received, at, &directives)
}

/// Like [`stored_fields`], but takes the received fields by value. `directives` must include at least those that name
/// fields.
pub(super) fn kept_fields(
    ask: &Ask,
    first_line: FirstLine,
    storable: Storable,
    received: HeaderMap,
    at: Time,
    directives: &ResponseDirectives,
) -> StoredFields {
    let unsent = unsent(ask, &received, directives);
    let mut kept = received;
    fields::forward(&mut kept, |name| {
        *name != header::AGE
            && !(storable.strip_set_cookie && *name == header::SET_COOKIE)
            && !fields::is_unstorable(name, directives)
    });
    complete(ask, first_line.version, &mut kept, || at);
    coding::vary(ask, first_line.status, &mut kept);
    StoredFields {
        fields: kept,
        unsent,
    }
}

/// The fields of `received` that decide how the response is judged but are not sent: those that are for us alone, and
/// those that `no-cache="…"` or `private="…"` names. A 304, a HEAD or another part need not repeat them.
fn unsent(ask: &Ask, received: &HeaderMap, directives: &ResponseDirectives) -> Option<Box<Fields>> {
    let decides = |name: &HeaderName| fields::decides(name) || ask.site.targets.contains(name);
    let is_kept = |name: &HeaderName| {
        is_for_us(name) || (fields::is_unstorable(name, directives) && decides(name))
    };
    // Most responses have no such field.
    if !received.keys().any(is_kept) {
        return None;
    }
    let mut unsent = HeaderMap::new();
    for (name, value) in received.iter().filter(|(name, _)| is_kept(name)) {
        unsent.append(name, value.clone());
    }
    Some(Box::new(Fields::pack(&unsent)))
}

/// Returns the fields for the request's own client if storing removes some that only later requests must not get: those
/// that `no-cache` or `private` names (RFC 9111 sections 5.2.2.4 and 5.2.2.7).
pub fn own_fields(ask: &Ask, head: &response::Parts, storable: Storable) -> Option<Box<HeaderMap>> {
    let first_line = FirstLine {
        status: head.status,
        version: head.version,
    };
    let all = || all_fields(ask, first_line, storable, head.headers.clone());
    storable.names_fields.then(all).map(Box::new)
}

/// Like [`own_fields`], after `update` (a 304, or another part) turned the fields `old` into `new`, perhaps without the
/// cookie that it brought.
pub fn own_updated(
    ask: &Ask,
    first_line: FirstLine,
    storable: Storable,
    (old, new): (&Fields, &HeaderMap),
    update: &HeaderMap,
) -> Option<Box<HeaderMap>> {
    let (directives, _) = directives::response(new, &ask.site.targets);
    let withholds_cookie = has(update, &header::SET_COOKIE) && !has(new, &header::SET_COOKIE);
    (directives.names_fields() || withholds_cookie).then(|| {
        let mut all = old.unpack(8);
        validate::freshen_for_one(&mut all, update.clone());
        Box::new(all_fields(ask, first_line, storable, all))
    })
}

/// Returns all fields that a client may have.
fn all_fields(
    ask: &Ask,
    first_line: FirstLine,
    storable: Storable,
    mut own: HeaderMap,
) -> HeaderMap {
    fields::remove_hop_by_hop(&mut own);
    own.remove(header::AGE);
    if storable.strip_set_cookie {
        own.remove(header::SET_COOKIE);
    }
    complete(ask, first_line.version, &mut own, clock::now);
    coding::vary(ask, first_line.status, &mut own);
    own
}

/// Adds `Via`, and `Date` if the origin gave none (RFC 9110 sections 6.6.1 and 7.6.3). Of several dates only the first,
/// which counts, is kept. Fields that [end here](crate::policy::Site::ends_here) are removed.
pub fn complete(ask: &Ask, version: Version, response: &mut HeaderMap, at: impl FnOnce() -> Time) {
    let ends_here = |name: &HeaderName| ask.site.ends_here(name);
    let says_it_to_us = response.keys().any(ends_here);
    if says_it_to_us {
        fields::remove_where(response, ends_here);
    }
    let mut dates = response.get_all(header::DATE).iter();
    match (dates.next().cloned(), dates.next()) {
        (Some(first), Some(_)) => {
            response.insert(header::DATE, first);
        }
        (Some(_), None) => {}
        (None, _) => {
            let date = HeaderValue::try_from(at().to_http());
            response.extend(date.map(|date| (header::DATE, date)));
        }
    }
    ask.site.via.append(response, version);
}
