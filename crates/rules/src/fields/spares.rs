//! Maps that are needed no more, for the fields of the next message: to make one takes memory twice.

use http::HeaderMap;

/// How many are kept at most.
const MOST: usize = 64;

/// The most fields that a map which is kept has room for: all that are kept take half a megabyte at most.
const LARGEST: usize = 64;

/// Empty maps with room for the fields of a message.
#[derive(Debug, Default)]
pub struct Spares(Vec<HeaderMap>);

impl Spares {
    /// None.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty map, with room where one was kept.
    pub fn take(&mut self) -> HeaderMap {
        self.0.pop().unwrap_or_default()
    }

    /// Keeps a map's room; what was in it is dropped.
    pub fn keep(&mut self, mut map: HeaderMap) {
        if self.0.len() < MOST && (1..=LARGEST).contains(&map.capacity()) {
            map.clear();
            self.0.push(map);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderValue, header::HOST};

    #[test]
    fn what_was_in_a_map_is_gone_and_its_room_is_not() {
        let mut spares = Spares::new();
        let mut map = HeaderMap::with_capacity(20);
        map.insert(HOST, HeaderValue::from_static("a.example"));
        spares.keep(map);
        let again = spares.take();
        assert!(again.is_empty() && again.capacity() >= 20);
        assert_eq!(spares.take().capacity(), 0);
    }

    #[test]
    fn neither_many_nor_large_ones_are_kept() {
        let mut spares = Spares::new();
        spares.keep(HeaderMap::with_capacity(10 * LARGEST));
        assert_eq!(spares.take().capacity(), 0);
        for _ in 0..2 * MOST {
            spares.keep(HeaderMap::with_capacity(8));
        }
        let kept = (0..2 * MOST).filter(|_| spares.take().capacity() > 0);
        assert_eq!(kept.count(), MOST);
    }
}
