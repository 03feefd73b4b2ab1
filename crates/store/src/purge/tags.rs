//! The tags of stored responses. Each text is kept once, and knows how many stored responses carry it.

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
    /// The name by which the log knows it.
    name: u64,
    /// How many stored responses carry it and were fetched after its last hard purge.
    live: AtomicU64,
    /// The sequence number of its last hard purge.
    purged: AtomicU64,
    /// The table that has the tag as long as anything carries it.
    all: Arc<All>,
}

impl Tag {
    /// The bytes of memory that it takes, including its slot in the table.
    fn weight(&self) -> u64 {
        /// The counters of an `Arc`.
        const COUNTERS: usize = 16;
        /// A slot of a [`Shard`], half of which may be free.
        const SLOT: u64 = 32;
        allocated(size_of::<Self>() + COUNTERS) + allocated(self.text.len()) + SLOT
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        self.all.forget(self);
    }
}

/// The tags of one stored response (surrogate keys, cache groups).
#[derive(Debug)]
pub struct Marks {
    tags: Box<[Arc<Tag>]>,
    /// The bytes of memory of those texts that nothing carried before: they are weighed here.
    own: u64,
    /// The number of the log when the response's fetch began.
    log_at: u64,
}

impl Marks {
    /// The tags' texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|tag| &*tag.text)
    }

    /// The names by which the log knows them.
    pub(super) fn names(&self) -> impl Iterator<Item = u64> {
        self.tags.iter().map(|tag| tag.name)
    }

    /// Whether these are exactly `texts`, and all of them still count: no hard purge has subtracted one. Then they may
    /// be used for a response that replaces the one that carries them, and stay weighed.
    pub fn serve_for<T: AsRef<str>>(&self, texts: &[T]) -> bool {
        let counts = |tag: &Arc<Tag>| tag.purged.load(Relaxed) <= self.log_at;
        self.texts().eq(texts.iter().map(AsRef::as_ref)) && self.tags.iter().all(counts)
    }

    /// The bytes of memory that they take, without texts that are weighed elsewhere, or [nowhere](Tags::unweighed).
    pub(crate) fn weight(&self) -> u64 {
        56 + 8 * self.tags.len() as u64 + self.own
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        for tag in &self.tags {
            // What a purge has already subtracted is not subtracted again.
            if tag.purged.load(Relaxed) <= self.log_at {
                let _ = tag
                    .live
                    .fetch_update(Relaxed, Relaxed, |live| live.checked_sub(1));
            }
        }
        let tags = std::mem::take(&mut self.tags);
        let all = tags.first().map(|tag| Arc::clone(&tag.all));
        drop(tags);
        if let Some(all) = all {
            all.weighed.fetch_sub(self.own, Relaxed);
        }
    }
}

/// All tags that stored responses carry. Shared by all workers; not on the path of a hit.
#[derive(Debug, Default)]
pub struct Tags(Arc<All>);

#[derive(Debug)]
struct All {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    /// The bytes of memory that the tags take.
    bytes: AtomicU64,
    /// The bytes of those that are weighed with the response that brought them.
    weighed: AtomicU64,
}

/// Tags by name.
type Shard = HashMap<u64, Weak<Tag>>;

impl Default for All {
    fn default() -> Self {
        Self {
            shards: (0..64).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            bytes: AtomicU64::new(0),
            weighed: AtomicU64::new(0),
        }
    }
}

impl Tags {
    /// Makes the marks of a response whose fetch began when the log stood at `log_at`; `None` without tags.
    pub fn marks<T: AsRef<str>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        log_at: u64,
    ) -> Option<Arc<Marks>> {
        let mut own = 0;
        let tags: Box<[_]> = texts
            .into_iter()
            .map(|text| {
                let (tag, weight) = self.0.intern(text.as_ref());
                own += weight;
                // A tag that was purged during the fetch never counted.
                if tag.purged.load(Relaxed) <= log_at {
                    tag.live.fetch_add(1, Relaxed);
                }
                tag
            })
            .collect();
        self.0.weighed.fetch_add(own, Relaxed);
        self.0.bytes.fetch_add(own, Relaxed);
        (!tags.is_empty()).then(|| Arc::new(Marks { tags, own, log_at }))
    }

    /// The bytes of memory of texts that are weighed with no stored response: the response that brought them is gone,
    /// and others still carry them.
    pub(crate) fn unweighed(&self) -> u64 {
        let bytes = self.0.bytes.load(Relaxed);
        bytes.saturating_sub(self.0.weighed.load(Relaxed))
    }

    /// Applies a purge of `text` with the number `sequence`. Returns how many stored responses carry the tag. After a
    /// hard purge they do not count any more.
    pub(super) fn purged(&self, text: &str, sequence: u64, soft: bool) -> u64 {
        let name = super::name::tag_name(text);
        let held = self.0.shard(name).get(&name).and_then(Weak::upgrade);
        let Some(tag) = held.filter(|tag| &*tag.text == text) else {
            return 0;
        };
        if soft {
            return tag.live.load(Relaxed);
        }
        tag.purged.store(sequence, Relaxed);
        tag.live.swap(0, Relaxed)
    }

    /// Gives back the room of texts that nothing carries any more.
    pub fn tidy(&self) {
        for shard in &self.0.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            if shard.capacity() > 4 * shard.len() + 64 {
                shard.shrink_to_fit();
            }
        }
    }
}

impl All {
    /// Returns the tag with this text, and its weight if nothing carried it before.
    fn intern(self: &Arc<Self>, text: &str) -> (Arc<Tag>, u64) {
        let name = super::name::tag_name(text);
        let mut shard = self.shard(name);
        let held = shard.get(&name).and_then(Weak::upgrade);
        // Two texts of one name, which nobody will ever see, are two tags; only the count knows just one of them.
        let other = match held {
            Some(tag) if &*tag.text == text => return (tag, 0),
            other => other,
        };
        let tag = Arc::new(Tag {
            text: text.into(),
            name,
            live: AtomicU64::new(0),
            purged: AtomicU64::new(0),
            all: Arc::clone(self),
        });
        shard.insert(name, Arc::downgrade(&tag));
        drop(shard);
        // The last reference removes the tag from the table, and takes the lock for it.
        drop(other);
        let weight = tag.weight();
        (tag, weight)
    }

    /// Removes `tag`, which nothing carries any more.
    fn forget(&self, tag: &Tag) {
        self.bytes.fetch_sub(tag.weight(), Relaxed);
        let mut shard = self.shard(tag.name);
        // The same text may have come again meanwhile.
        if shard
            .get(&tag.name)
            .is_some_and(|held| held.strong_count() == 0)
        {
            shard.remove(&tag.name);
        }
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
        assert_eq!(tags.purged("b", 4, false), 0);
    }

    #[test]
    fn what_nothing_carries_takes_no_room() {
        let tags = Tags::default();
        for round in 0..1000 {
            let texts = [round, round + 1, round + 2].map(|n: u32| n.to_string());
            drop(tags.marks(&texts, 0));
        }
        let shards = tags.0.shards.iter();
        let held: usize = shards
            .map(|shard| shard.lock().map_or(1, |shard| shard.len()))
            .sum();
        let bytes = [&tags.0.bytes, &tags.0.weighed].map(|bytes| bytes.load(Relaxed));
        assert_eq!((held, bytes), (0, [0, 0]));
    }

    #[test]
    fn a_text_that_is_carried_is_weighed_somewhere_whoever_brought_it() {
        let tags = Tags::default();
        let long = "x".repeat(1000);
        let brought = tags.marks([&long], 0);
        let carried = tags.marks([&long], 0);
        assert_eq!(tags.unweighed(), 0);
        drop(brought);
        assert!(tags.unweighed() > 1000);
        let again = tags.marks([&long], 0);
        assert!(tags.unweighed() > 1000, "neither brought it");
        drop((carried, again));
        assert_eq!(tags.unweighed(), 0);
    }

    #[test]
    fn marks_serve_for_what_carries_the_same_and_was_not_purged() {
        let tags = Tags::default();
        let marks = tags.marks(["a", "b"], 1).expect("two");
        assert!(marks.serve_for(&["a", "b"]));
        for others in [&["a"][..], &["b", "a"], &["a", "b", "c"], &[]] {
            assert!(!marks.serve_for(others), "{others:?}");
        }
        tags.purged("b", 2, true);
        assert!(marks.serve_for(&["a", "b"]), "it is carried still");
        tags.purged("b", 3, false);
        assert!(!marks.serve_for(&["a", "b"]), "what is new would not count");
    }
}
