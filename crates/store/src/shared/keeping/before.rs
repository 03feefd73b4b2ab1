//! What is there under a name before it is written again.

use super::{Passed, rival::There};
use crate::{
    Body,
    codec::Head,
    shared::{
        Inner,
        guard::Failed,
        record::{self, ChunkSet, Entry},
        remote::{Kind, Read},
    },
};
use bytes::Bytes;

/// What a record held before it was written again.
#[derive(Default)]
pub(super) struct Before {
    /// Variants that are still good.
    pub(super) there: Vec<There>,
    /// The chunks of all variants.
    pub(super) sets: Vec<ChunkSet>,
}

impl Inner {
    /// Reads the variants that are there, without those of another key of the same name, and without those that were
    /// purged.
    pub(super) async fn before(&self, key: &[u8], name: &str) -> Result<Before, Passed> {
        let until = self.guard.deadline();
        let value = match self.guard.get(name, Read::Latest, until).await {
            Ok(Some(value)) => value,
            // Something else has our name, and is replaced.
            Ok(None) | Err(Failed(Some(Kind::WrongType | Kind::TooLarge))) => {
                return Ok(Before::default());
            }
            Err(failed) => return Err(failed.into()),
        };
        let entries = record::read(value).unwrap_or_default();
        let sets = entries
            .iter()
            .filter_map(|entry| entry.place.chunks())
            .collect();
        let of_key = entries.into_iter().filter_map(|entry| {
            let head = Head::decode(&entry.head).ok()?;
            let checked = self.guard.remote().sequence(self.log(), entry.position)?;
            let is_good = *head.key == *key && !self.log().refuses(key, None, checked);
            is_good.then(|| self.there(key, entry, head, checked))
        });
        let there = of_key.collect();
        Ok(Before { there, sets })
    }

    /// The variant of `key` with this head; `checked`: the number of this node's log up to which no purge covers it.
    fn there(&self, key: &[u8], entry: Entry, head: Head, checked: u64) -> There {
        let nothing = Body::Whole(Bytes::new());
        let stored = head.stored(nothing, Some(checked), self.log().tags());
        There {
            entry,
            facts: stored.facts,
            standing: self.log().standing(key, &stored),
        }
    }
}
