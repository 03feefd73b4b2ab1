//! The client's own conditions, judged against the answer we would send (RFC 9110 section 13).

use crate::time::Time;
use http::{HeaderMap, Method};

/// What the stored (or just fetched) representation offers to compare with.
#[derive(Clone, Copy, Debug)]
pub struct Representation<'a> {
    pub etag: Option<&'a [u8]>,
    pub last_modified: Option<&'a [u8]>,
    pub date: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No condition, or it holds: send the response.
    Proceed,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

/// Whether the request carries any precondition field at all. Cheap.
pub fn any(request: &HeaderMap) -> bool {
    todo!()
}

/// RFC 9110 section 13.2.2 in order, for GET and HEAD; weak comparison for `If-None-Match`, strong for `If-Match`.
/// A cache evaluates `If-None-Match` and `If-Modified-Since`; it evaluates `If-Match` and `If-Unmodified-Since` too when answering itself.
pub fn judge(
    method: &Method,
    request: &HeaderMap,
    representation: &Representation<'_>,
    now: Time,
) -> Outcome {
    todo!()
}

/// Whether `Range` is to be honoured in view of `If-Range` (section 13.1.5): strong tag equality, or an exact strong date.
pub fn if_range_holds(request: &HeaderMap, representation: &Representation<'_>, now: Time) -> bool {
    todo!()
}

/// The fields a 304 carries (section 15.4.5): removes representation metadata that it should not.
pub fn trim_not_modified(fields: &mut HeaderMap) {
    todo!()
}
