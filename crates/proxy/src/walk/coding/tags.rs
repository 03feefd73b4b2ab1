//! Tags of forms in the conditions of clients, and of what is sent to origins.

use crate::ask::Ask;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::{
    coding::{self, Accepted},
    method::is_retrieval,
};
use store::Stored;

/// The tag by which the client holds what is stored, or a form of it.
pub fn held(
    ask: &Ask,
    stored: &Stored,
    takes_own: impl FnOnce() -> bool,
    accepted: Accepted,
) -> Option<HeaderValue> {
    let asks = ask.said.conditions && ask.fields.contains_key(header::IF_NONE_MATCH);
    if !asks || stored.status != StatusCode::OK {
        return None;
    }
    let tag = stored.fields.get_bytes(&header::ETAG);
    matching_tag(ask, tag, takes_own(), accepted)
}

/// The tag in `If-None-Match` that names what has the tag `origin`, which the client `takes_own` or not, or a form of it that it accepts.
/// Only who reads can be told that nothing has changed (RFC 9110 section 13.1.2).
pub fn matching_tag(
    ask: &Ask,
    origin: Option<&[u8]>,
    takes_own: bool,
    accepted: Accepted,
) -> Option<HeaderValue> {
    if !is_retrieval(&ask.method) {
        return None;
    }
    coding::understood(&ask.fields, origin?, takes_own, accepted)
}

/// Puts the origin's own tags into the conditions of what it is sent, where they name forms that this client may get.
pub fn for_origin(ask: &Ask, fields: &mut HeaderMap) {
    coding::for_origin(fields, &ask.method, || Accepted::read(&ask.fields));
}

/// Whether the request is on condition that a form is current.
pub fn is_on_form(ask: &Ask) -> bool {
    ask.said.conditions && ask.policy().compress.is_some() && coding::matches_form(&ask.fields)
}
