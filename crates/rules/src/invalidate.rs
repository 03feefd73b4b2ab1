//! What a successful unsafe request makes invalid (RFC 9111 section 4.4, RFC 9875).

use http::{HeaderMap, Method, StatusCode};

/// Whether the method is safe (RFC 9110 section 9.2.1). Unknown methods are not.
pub fn is_safe(method: &Method) -> bool {
    todo!()
}

/// Whether this exchange invalidates: an unsafe method and a non-error (2xx or 3xx) status.
pub fn invalidates(method: &Method, status: StatusCode) -> bool {
    todo!()
}

/// The other URIs to invalidate besides the target: `Location` and `Content-Location`, resolved against `target`
/// (`scheme://authority/path?query`), only of the same origin (RFC 9111 section 4.4).
pub fn others(response: &HeaderMap, target: &str) -> Vec<String> {
    todo!()
}
