//! Chunks that no record names any more.

use super::{LONGER, rival::There};
use crate::shared::{Inner, chunk, name, record::Entry};

/// What a record held.
#[derive(Default)]
pub(super) struct Before {
    /// Variants that are still good.
    pub(super) there: Vec<There>,
    /// Sets of chunks, and how many are in each, of all variants.
    pub(super) sets: Vec<(u64, u32)>,
}

/// Names of the chunks that a record has named and, with these entries, does not name any more.
pub(super) fn unnamed(
    name: &str,
    mut sets: Vec<(u64, u32)>,
    entries: &[Entry],
    largest_body: u64,
) -> Vec<String> {
    sets.retain(|old| !entries.iter().any(|entry| entry.place.set() == Some(*old)));
    // What else a record says is not ours.
    let most = largest_body.div_ceil(chunk::LONGEST as u64);
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let of_set = |(set, count): (u64, u32)| {
        (0..count.min(most)).map(move |index| name::chunk(name, set, index))
    };
    sets.into_iter().flat_map(of_set).collect()
}

impl Inner {
    /// Has the server forget these chunks soon: whoever has just read the record that named them still finds them. Where that fails they go
    /// when their time is over.
    pub(super) async fn give_up(&self, chunks: &[String]) {
        for chunk in chunks {
            if self.guard.expire(chunk, LONGER).await.is_err() {
                break;
            }
        }
    }
}
