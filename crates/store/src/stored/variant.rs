//! What tells the variants of a key apart.

use http::{HeaderMap, HeaderName};
use rules::vary;
use xxhash_rust::xxh3::Xxh3;

/// What selects a stored response among the variants of its key (RFC 9111 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The nominated fields, sorted.
    pub nominated: Box<[HeaderName]>,
    /// Their normalised values in the request that was answered (`rules::vary::variant_key`).
    pub key: Box<[u8]>,
}

impl Variant {
    /// A hash that tells variants of a key apart, the same on every machine.
    pub fn digest(&self) -> u64 {
        let mut hash = Xxh3::new();
        for name in &self.nominated {
            hash.update(name.as_str().as_bytes());
            hash.update(b"\n");
        }
        hash.update(&self.key);
        hash.digest()
    }

    /// Whether `request` has the same nominated values.
    pub fn matches(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        vary::variant_key(&self.nominated, request, scratch);
        **scratch == *self.key
    }
}
