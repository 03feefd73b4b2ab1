//! Consistent hashing: decides which of several servers has a key. It works like libmemcached's ketama with equal
//! weights, so that other clients find the same server.

use md5::{Digest, Md5};

/// Digests per server. Each digest makes four points of the ring.
const DIGESTS: u32 = 40;

/// The ring.
#[derive(Debug)]
pub struct Ring {
    /// Points in ascending order, each with the server that has the keys up to it.
    points: Vec<(u32, usize)>,
}

impl Ring {
    /// Makes the ring of the servers with these names.
    pub fn of(names: impl Iterator<Item = String>) -> Self {
        let mut points = Vec::new();
        for (server, name) in names.enumerate() {
            for part in 0..DIGESTS {
                let digest = Md5::digest(format!("{name}-{part}"));
                let four = digest.chunks_exact(4).map(number);
                points.extend(four.map(|point| (point, server)));
            }
        }
        points.sort_unstable();
        Self { points }
    }

    /// Returns the server that has `key`, as its index among the names.
    pub fn server(&self, key: &[u8]) -> usize {
        let hash = number(&Md5::digest(key));
        let after = self.points.partition_point(|(point, _)| *point < hash);
        let point = self.points.get(after).or_else(|| self.points.first());
        point.map_or(0, |(_, server)| *server)
    }
}

/// Returns the number in the first four bytes, the lowest first.
fn number(digest: &[u8]) -> u32 {
    let first = digest.first_chunk::<4>();
    first.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(names: &[&str]) -> Ring {
        Ring::of(names.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn keys_are_spread_and_stay_where_they_are() {
        let (three, four) = (ring(&["a", "b", "c"]), ring(&["a", "b", "c", "d"]));
        let mut counts = [0; 4];
        let mut moved = 0;
        for key in 0..10_000 {
            let key = format!("key {key}");
            let (before, after) = (three.server(key.as_bytes()), four.server(key.as_bytes()));
            counts[after] += 1;
            assert!(
                before == after || after == 3,
                "keys move to the new server only"
            );
            moved += u32::from(before != after);
        }
        assert!(
            counts.iter().all(|count| (1500..3500).contains(count)),
            "{counts:?}"
        );
        assert!((1500..3500).contains(&moved), "{moved}");
    }

    /// Another implementation of ketama (uhashring) puts the keys here.
    #[test]
    fn other_clients_find_the_same_server() {
        let ring = ring(&["a", "b", "10.0.0.1:11212"]);
        for (key, server) in [
            ("key", 1),
            ("larder:https://shop.example/shoes?page=2", 0),
            ("1", 0),
            ("name-7", 1),
            ("", 1),
        ] {
            assert_eq!(ring.server(key.as_bytes()), server, "{key}");
        }
        assert_eq!(ring.points.len(), 480);
        assert_eq!(ring.points.first(), Some(&(1_903_583, 2)));
    }
}
