//! What a map of fields takes.

use http::{HeaderMap, HeaderName, HeaderValue};

/// About what a map takes for each field that it has room for, in bytes.
pub const PLACE: usize = size_of::<(HeaderName, HeaderValue)>() + 32;

/// About what a map takes beside the text of its fields, in bytes.
pub fn places(fields: &HeaderMap) -> usize {
    // Further lines of one name have no place in the map's own count.
    fields.capacity().max(fields.len()) * PLACE
}
