//! The field `Date` of answers (RFC 9110 section 6.6.1).

use http::{HeaderMap, HeaderValue, header};
use std::time::SystemTime;

/// Adds the field to an answer without one. Over HTTP/1 `hyper` would add it, but what it adds stands still while the
/// wall clock, set back, comes to where it was.
pub(super) fn complete(fields: &mut HeaderMap) {
    if !fields.contains_key(header::DATE) {
        let now = httpdate::fmt_http_date(SystemTime::now());
        // Always valid: letters, digits, colons.
        fields.extend(HeaderValue::try_from(now).map(|now| (header::DATE, now)));
    }
}
