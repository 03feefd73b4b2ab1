//! Where the head and content of a stored response are in memory.

use crate::{
    Body, Fields,
    body::{SHARED, allocated},
};
use bytes::Bytes;

/// The largest body, in bytes, that shares one allocation with its head.
const BESIDE_HEAD: usize = 16 << 10;

/// Whether this many bytes of fields and of content share one allocation, so that what a hit reads is together. They do
/// not if the sum is just beyond one of the allocator's sizes and would take a sixteenth more than two allocations.
pub(super) fn is_beside(fields: usize, body: usize) -> bool {
    let apart = allocated(fields) + allocated(body) + SHARED;
    body <= BESIDE_HEAD && allocated(fields + body) <= apart + apart / 16
}

/// The same head and body, each in its place. Small content is copied, so that it does not hold the larger buffer in
/// which it came.
pub(super) fn placed(fields: Fields, body: Body) -> (Fields, Body) {
    match body {
        Body::Whole(bytes) if is_beside(fields.len(), bytes.len()) => {
            let (fields, bytes) = fields.beside(&bytes);
            (fields, Body::Whole(bytes))
        }
        Body::Whole(bytes) if bytes.len() <= BESIDE_HEAD => {
            let own = Bytes::copy_from_slice(&bytes);
            (fields.detached(), Body::Whole(own))
        }
        other => (fields, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lie_together(stored: &(Fields, Body)) -> bool {
        let head = stored.0.packed().as_ptr_range();
        stored.1.whole().map(|content| content.as_ptr()) == Some(head.end)
    }

    /// A row: bytes of fields, bytes of content, and whether they share an allocation.
    #[test]
    fn small_content_lies_beside_its_head_unless_that_wastes_memory() {
        for (fields, body, beside) in [
            (200, 0, true),
            (200, 1000, true),
            // 1280, not 1024 and 160.
            (130, 1024, true),
            // 1536, not 1024 and 320.
            (257, 1024, false),
            // 5120, not 4096 and 320.
            (300, 3900, false),
            // 10240, not 8192 and 320.
            (300, 8000, false),
            // Both have pages of their own.
            (300, 15_000, true),
            (300, 16 << 10, false),
            (300, 17_000, false),
        ] {
            let mut map = http::HeaderMap::new();
            // A known name takes one byte, and the length of its value two.
            let value = http::HeaderValue::from_str(&"v".repeat(fields - 3)).expect("valid");
            map.insert(http::header::SERVER, value);
            let packed = Fields::pack(&map);
            assert_eq!(packed.len(), fields);
            let content = Bytes::from(vec![b'x'; body]);
            let placed = placed(packed.clone(), Body::Whole(content.clone()));
            assert_eq!(lie_together(&placed), beside, "{fields}, {body}");
            assert_eq!(is_beside(fields, body), beside, "{fields}, {body}");
            assert_eq!(placed.0, packed);
            assert_eq!(placed.1.whole(), Some(&content));
        }
    }

    proptest::proptest! {
        #[test]
        fn together_they_never_take_much_more_than_apart(fields in 1..2000_usize, body in 0..20_000_usize) {
            if is_beside(fields, body) {
                let apart = allocated(fields) + allocated(body) + SHARED;
                proptest::prop_assert!(allocated(fields + body) * 16 <= apart * 17);
            }
        }
    }
}
