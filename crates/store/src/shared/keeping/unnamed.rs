//! Chunks that no record names any more.

use super::{EXPIRED_AT_ONCE, LONGER};
use crate::shared::{
    Inner, chunk, name,
    record::{ChunkSet, Entry},
};

/// Returns the names of the chunks that a record has named, and no longer names with these entries.
pub(super) fn unnamed(
    name: &str,
    mut sets: Vec<ChunkSet>,
    entries: &[Entry],
    largest_body: u64,
) -> Vec<String> {
    sets.retain(|old| {
        !entries
            .iter()
            .any(|entry| entry.place.chunks() == Some(*old))
    });
    // A record that claims more chunks was not written by us.
    let most = largest_body.div_ceil(chunk::LONGEST as u64);
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let of_set = |set: ChunkSet| {
        let count = set.count.min(most);
        names(name, ChunkSet { count, ..set })
    };
    sets.into_iter().flat_map(of_set).collect()
}

/// The names of these chunks of what is under `name`.
pub(super) fn names(name: &str, set: ChunkSet) -> impl Iterator<Item = String> {
    (0..set.count).map(move |index| name::chunk(name, set.id, index))
}

impl Inner {
    /// Makes the server forget these chunks soon, but not at once: a reader that has just read the record that named
    /// them still finds them. If that fails, they go when they expire.
    pub(super) async fn give_up(&self, chunks: &[String]) {
        for chunks in chunks.chunks(EXPIRED_AT_ONCE) {
            if self.guard.expire(chunks, LONGER).await.is_err() {
                break;
            }
        }
    }
}
