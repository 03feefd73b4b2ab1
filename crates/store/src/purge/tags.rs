//! Tags of stored responses: each text is kept once, and knows how many stored responses carry it.

use crate::body::allocated;
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// One tag that stored responses carry.
#[derive(Debug)]
struct Tag {
    text: Box<str>,
    /// The name under which the log knows it.
    name: u64,
    /// Stored responses that carry it and were fetched after its last hard purge.
    live: AtomicU64,
    /// The sequence number of its last hard purge.
    purged: AtomicU64,
}

impl Tag {
    /// Bytes of memory it takes, its place among all tags included.
    fn weight(&self) -> u64 {
        /// The counters of an `Arc`.
        const COUNTERS: usize = 16;
        /// A slot of a [`Shard`], half of which may be free.
        const SLOT: u64 = 32;
        allocated(size_of::<Self>() + COUNTERS) + allocated(self.text.len()) + SLOT
    }
}

/// The tags of one stored response (surrogate keys, cache groups).
#[derive(Debug)]
pub struct Marks {
    tags: Box<[Arc<Tag>]>,
    /// Bytes of memory that only these take: texts that nothing else carried when they were made.
    own: u64,
    /// The sequence number at which the response's fetch began.
    began: u64,
}

impl Marks {
    /// The tags' texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|tag| &*tag.text)
    }

    /// The names under which the log knows them.
    pub(super) fn names(&self) -> impl Iterator<Item = u64> {
        self.tags.iter().map(|tag| tag.name)
    }

    /// Bytes of memory they take, beside the texts that are shared.
    pub(crate) fn weight(&self) -> u64 {
        56 + 8 * self.tags.len() as u64 + self.own
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        for tag in &self.tags {
            // What a purge has taken off already is not taken off again.
            if tag.purged.load(Relaxed) <= self.began {
                let _ = tag
                    .live
                    .fetch_update(Relaxed, Relaxed, |live| live.checked_sub(1));
            }
        }
    }
}

/// All tags that stored responses carry. Shared by all workers; not on the path of a hit.
#[derive(Debug)]
pub struct Tags {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
}

/// Tags by name.
type Shard = HashMap<u64, Weak<Tag>>;

impl Default for Tags {
    fn default() -> Self {
        Self {
            shards: (0..64).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Tags {
    /// Marks for a response whose fetch began when the log stood at `began`; `None` without tags.
    pub fn marks<T: AsRef<str>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        began: u64,
    ) -> Option<Arc<Marks>> {
        let tags: Box<[_]> = texts
            .into_iter()
            .map(|text| {
                let tag = self.intern(text.as_ref());
                // What was purged while it was fetched never counted.
                if tag.purged.load(Relaxed) <= began {
                    tag.live.fetch_add(1, Relaxed);
                }
                tag
            })
            .collect();
        let own = tags.iter().filter(|tag| Arc::strong_count(tag) == 1);
        let own = own.map(|tag| tag.weight()).sum();
        (!tags.is_empty()).then(|| Arc::new(Marks { tags, own, began }))
    }

    /// A purge of `text` takes effect at `sequence`: how many stored responses carry it. After a hard one they count no more.
    pub(super) fn purged(&self, text: &str, sequence: u64, soft: bool) -> u64 {
        let name = super::name::tag_name(text);
        let held = self.shard(name).get(&name).and_then(Weak::upgrade);
        let Some(tag) = held.filter(|tag| &*tag.text == text) else {
            return 0;
        };
        if soft {
            return tag.live.load(Relaxed);
        }
        tag.purged.store(sequence, Relaxed);
        tag.live.swap(0, Relaxed)
    }

    /// Forgets texts that nothing carries any more.
    pub fn tidy(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|_, tag| tag.strong_count() > 0);
            if shard.capacity() > 4 * shard.len() + 64 {
                shard.shrink_to_fit();
            }
        }
    }

    fn intern(&self, text: &str) -> Arc<Tag> {
        let name = super::name::tag_name(text);
        let mut shard = self.shard(name);
        // Two texts of one name, which nobody will ever see, are two tags; only the count knows one of them alone.
        if let Some(tag) = shard.get(&name).and_then(Weak::upgrade)
            && &*tag.text == text
        {
            return tag;
        }
        let tag = Arc::new(Tag {
            text: text.into(),
            name,
            live: AtomicU64::new(0),
            purged: AtomicU64::new(0),
        });
        shard.insert(name, Arc::downgrade(&tag));
        tag
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "the index is a remainder of the length"
    )]
    fn shard(&self, name: u64) -> std::sync::MutexGuard<'_, Shard> {
        let index = self.hasher.hash_one(name) as usize % self.shards.len();
        self.shards[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_weighed_with_what_brought_it() {
        let tags = Tags::default();
        let weight = |marks: &Option<Arc<Marks>>| marks.as_ref().map_or(0, |marks| marks.weight());
        let long = "x".repeat(1000);
        let first = tags.marks([&long], 0);
        let second = tags.marks([&long], 0);
        assert!(weight(&first) > 1000);
        assert!(weight(&second) < 100);
        drop((first, second));
        assert!(weight(&tags.marks([&long], 0)) > 1000);
    }

    #[test]
    fn what_carries_a_tag_is_counted_until_it_is_purged_or_goes() {
        let tags = Tags::default();
        let one = tags.marks(["a", "b"], 0);
        let two = tags.marks(["a"], 0);
        assert_eq!(tags.purged("a", 1, true), 2);
        assert_eq!(tags.purged("a", 1, false), 2);
        assert_eq!(tags.purged("a", 2, false), 0, "they count once");
        let three = tags.marks(["a"], 2);
        drop((one, two));
        assert_eq!(tags.purged("a", 3, true), 1);
        drop(three);
        assert_eq!(tags.purged("a", 3, true), 0);
        assert_eq!(tags.purged("c", 3, false), 0);
        tags.tidy();
        assert_eq!(tags.purged("b", 4, false), 0);
    }
}
