//! The tags of what is on the server, for those who answer nothing with it.

use crate::{
    Body,
    codec::Head,
    purge::Standing,
    shared::{
        Inner,
        record::{self, Entry},
        remote::Read,
    },
};
use bytes::Bytes;

impl Inner {
    /// Returns the tags of what is kept under `keys`: one round trip, in the time of one question.
    pub(in crate::shared) async fn tags(&self, keys: &[&[u8]]) -> Vec<Box<str>> {
        if keys.is_empty() {
            return Vec::new();
        }
        let names: Vec<_> = keys.iter().map(|key| self.name(key)).collect();
        let until = self.guard.deadline();
        let asked = self.guard.get_many(&names, Read::Latest, until).await;
        let records = keys.iter().zip(asked.unwrap_or_default());
        let entries = records.flat_map(|(key, value)| {
            let entries = value.and_then(|value| record::read(value).ok());
            let entries = entries.into_iter().flatten();
            entries.map(move |entry| (*key, entry))
        });
        entries
            .flat_map(|(key, entry)| self.tags_of(key, &entry))
            .collect()
    }

    /// Returns the tags of this variant; none if it is of another key or purged.
    fn tags_of(&self, key: &[u8], entry: &Entry) -> Vec<Box<str>> {
        let Ok(head) = Head::decode(&entry.head) else {
            return Vec::new();
        };
        if *head.key != *key {
            return Vec::new();
        }
        let tags = head.tags().to_vec();
        // Where the number is not known, e.g. because this node has not read the shared log yet, they count.
        let checked = self.guard.remote().sequence(self.log(), entry.position);
        let is_gone = checked.is_some_and(|checked| {
            let nothing = Body::Whole(Bytes::new());
            let stored = head.stored(nothing, Some(checked), self.log().tags());
            self.log().standing(key, &stored) == Standing::Gone
        });
        if is_gone { Vec::new() } else { tags }
    }
}
