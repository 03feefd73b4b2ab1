//! Field lists: hop-by-hop, `Connection`-nominated, never stored (RFC 9110 section 7.6.1, RFC 9111 section 3.1).

use http::HeaderMap;

/// Removes `Connection`, every field it nominates, and the hop-by-hop fields, from a message about to be forwarded.
pub fn remove_hop_by_hop(fields: &mut HeaderMap) {
    todo!()
}

/// Removes what must not be stored beyond hop-by-hop: the fields `no-cache="…"` and `private="…"` name, `Proxy-*` (RFC 9111 section 3.1).
pub fn remove_unstorable(
    fields: &mut HeaderMap,
    directives: &crate::directives::ResponseDirectives,
) {
    todo!()
}

/// Appends our element to `Via` (RFC 9110 section 7.6.3): `1.1 larder` or the like by `version`.
pub fn append_via(fields: &mut HeaderMap, version: http::Version, pseudonym: &str) {
    todo!()
}
