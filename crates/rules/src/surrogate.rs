//! Cache groups (RFC 9875). Surrogate keys of other dialects join here.

use http::HeaderMap;

/// At most this many groups are read from one response, each of at most 128 characters... more are ignored (RFC 9875 section 2.1 asks for at least 32/32).
pub const MOST_GROUPS: usize = 128;

/// The members of `Cache-Groups` (a list of strings; RFC 9875 section 2); empty if absent or malformed.
pub fn groups(response: &HeaderMap) -> Vec<String> {
    todo!()
}

/// The members of `Cache-Group-Invalidation` (section 3), to be heeded on responses to unsafe methods only.
pub fn invalidated_groups(response: &HeaderMap) -> Vec<String> {
    todo!()
}
