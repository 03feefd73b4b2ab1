//! Maps that are no longer needed, kept for the fields of the next message: a new map takes two allocations. Each
//! thread keeps its own. A request's map becomes an answer's, and an answer's map the next request's.

use http::HeaderMap;
use std::cell::RefCell;

/// Most maps that are kept.
const MOST: usize = 64;

/// Most fields that a kept map has room for. All kept maps together take at most half a megabyte.
const LARGEST: usize = 64;

thread_local! {
    static KEPT: RefCell<Vec<HeaderMap>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty map, with room if one was kept.
pub fn take() -> HeaderMap {
    KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Keeps a map's room. Its content is dropped.
pub fn keep(mut map: HeaderMap) {
    if !(1..=LARGEST).contains(&map.capacity()) {
        return;
    }
    map.clear();
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < MOST {
            kept.push(map);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, header::HOST};

    #[test]
    fn what_was_in_a_map_is_gone_and_its_room_is_not() {
        let mut map = HeaderMap::with_capacity(20);
        map.insert(HOST, HeaderValue::from_static("a.example"));
        keep(map);
        let again = take();
        assert!(again.is_empty() && again.capacity() >= 20);
        assert_eq!(take().capacity(), 0);
    }

    #[test]
    fn neither_many_nor_large_ones_are_kept() {
        keep(HeaderMap::with_capacity(10 * LARGEST));
        assert_eq!(take().capacity(), 0);
        for _ in 0..2 * MOST {
            keep(HeaderMap::with_capacity(8));
        }
        let kept = (0..2 * MOST).filter(|_| take().capacity() > 0);
        assert_eq!(kept.count(), MOST);
    }
}
