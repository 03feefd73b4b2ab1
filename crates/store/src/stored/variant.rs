//! What tells the variants of a key apart.

use http::{HeaderMap, HeaderName};
use rules::vary;

/// What selects a stored response among the variants of its key (RFC 9111 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The nominated fields, sorted.
    pub nominated: Box<[HeaderName]>,
    /// Their normalised values in the request that was answered (`rules::vary::variant_key`).
    pub key: Box<[u8]>,
}

impl Variant {
    /// Whether `request` has the same nominated values.
    pub fn matches(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        vary::variant_key(&self.nominated, request, scratch);
        **scratch == *self.key
    }
}
