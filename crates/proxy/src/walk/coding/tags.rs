//! Tags of forms in clients' conditions and in what origins are sent.

use crate::ask::Ask;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::{
    coding::{self, Accepted},
    method::is_retrieval,
};
use store::Stored;

/// Returns the tag in `If-None-Match` by which the client holds the stored response, or a form of it.
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

/// Returns the tag in `If-None-Match` that names the content with the tag `origin`, or a form of it that the client
/// accepts. `takes_own` says whether the client accepts that content itself. Only a request that reads can be told that
/// nothing has changed (RFC 9110 section 13.1.2).
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

/// Replaces tags of forms that this client may get by the origin's own, in the conditions of a request to the origin.
pub fn for_origin(ask: &Ask, fields: &mut HeaderMap) {
    coding::for_origin(fields, &ask.method, || Accepted::read(&ask.fields));
}

/// Whether the request is on condition that a form is current.
pub fn is_on_form(ask: &Ask) -> bool {
    ask.said.conditions && ask.policy().compress.is_some() && coding::matches_form(&ask.fields)
}
