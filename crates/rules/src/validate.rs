//! Validation: the conditional request, and what its answer does (RFC 9111 section 4.3).

use crate::time::Time;
use http::{HeaderMap, HeaderValue, StatusCode};

/// The validators of one stored response.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    pub etag: Option<&'a HeaderValue>,
    pub last_modified: Option<&'a HeaderValue>,
    /// `Date`, or time of receipt: used for `If-Modified-Since` only where `Last-Modified` is absent… never invented.
    pub date: Time,
}

/// Fields that a client may have sent and that must not reach the origin in our own fetch: the conditionals and `Range`.
pub fn remove_conditions(request: &mut HeaderMap) {
    todo!()
}

/// Writes `If-None-Match` (every tag of `candidates`, the chosen one first) and `If-Modified-Since` (of the chosen one,
/// which is `candidates[0]`) into `request`. Returns false if there is no validator to use (RFC 9111 section 4.3.1).
pub fn condition(request: &mut HeaderMap, candidates: &[Validators<'_>]) -> bool {
    todo!()
}

/// Which candidate(s) a 304 selects for update (RFC 9111 section 4.3.3 and 4.3.4): by strong tag all with the same tag, by weak tag or
/// `Last-Modified` the most recent, without validators the only one. Indices into `candidates`; empty: the 304 matches nothing.
pub fn selected(not_modified: &HeaderMap, candidates: &[Validators<'_>]) -> Vec<usize> {
    todo!()
}

/// Freshens stored fields with those of a 304 or a HEAD's 200 (RFC 9111 section 3.2): every field it carries replaces the stored ones,
/// except hop-by-hop, `Content-Encoding`, `Content-Type`, `Content-Range`, `Content-Length`, and what cannot be stored.
pub fn freshen(stored: &mut HeaderMap, update: &HeaderMap) {
    todo!()
}

/// What a HEAD's answer says of a stored GET (RFC 9111 section 4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSays {
    Freshen,
    Disqualify,
    Nothing,
}

pub fn head_says(
    status: StatusCode,
    head: &HeaderMap,
    stored: &HeaderMap,
    stored_length: Option<u64>,
) -> HeadSays {
    todo!()
}
