//! What a method means to a cache (RFC 9110 section 9.2).

use http::Method;

/// Whether the method is safe (RFC 9110 section 9.2.1). Unknown methods are not.
pub fn is_safe(method: &Method) -> bool {
    /// Methods that the IANA registry lists as safe beyond those of RFC 9110.
    const REGISTERED: [&str; 5] = ["PROPFIND", "REPORT", "SEARCH", "QUERY", "PRI"];
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    ) || REGISTERED.contains(&method.as_str())
}

/// Whether the method is `GET` or `HEAD`, which ask for what the target names, or for its head alone. They are answered
/// from the store (RFC 9110 section 9.2.3), and their conditions may be judged here (section 13.2.1).
#[inline]
pub fn is_retrieval(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
