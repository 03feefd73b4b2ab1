//! What is kept in a number of bytes, under each rule of eviction.

use super::{event::Kept, plan::Eviction, urls::Hashed};
use lru::LruCache;
use std::sync::Arc;
use store::model::Model;

/// The content of a simulated store.
pub(super) enum Keep {
    /// The store of the server.
    Larder(Model<Arc<Kept>>),
    /// A queue, for reference.
    Row(Row),
}

impl Keep {
    pub(super) fn new(eviction: Eviction, memory: Option<u64>) -> Self {
        match (eviction, memory) {
            (Eviction::Larder, Some(memory)) => Self::Larder(Model::new(memory, 1)),
            // If nothing is evicted, all rules are the same.
            (_, memory) => Self::Row(Row {
                entries: LruCache::unbounded_with_hasher(Hashed::default()),
                moves: eviction == Eviction::Lru,
                memory: memory.unwrap_or(u64::MAX),
                room: memory.unwrap_or(u64::MAX),
                weight: 0,
                evictions: 0,
            }),
        }
    }

    pub(super) fn get(&mut self, key: u64) -> Option<Arc<Kept>> {
        match self {
            Self::Larder(model) => model.get(key),
            Self::Row(row) => row.get(key).cloned(),
        }
    }

    pub(super) fn insert(&mut self, key: u64, kept: Arc<Kept>) {
        match self {
            Self::Larder(model) => model.insert(key, kept.weight, kept),
            Self::Row(row) => row.insert(key, kept),
        }
    }

    pub(super) fn remove(&mut self, key: u64) {
        match self {
            Self::Larder(model) => model.remove(key),
            Self::Row(row) => row.remove(key),
        }
    }

    /// Keeps only one key in `one_in`: those for which `stays` is true.
    pub(super) fn thin(&mut self, one_in: u64, stays: impl Fn(u64, &Kept) -> bool) {
        match self {
            Self::Larder(model) => model.thin(one_in, |key, kept| stays(key, kept)),
            Self::Row(row) => row.thin(one_in, stays),
        }
    }

    pub(super) fn evictions(&self) -> u64 {
        match self {
            Self::Larder(model) => model.evictions(),
            Self::Row(row) => row.evictions,
        }
    }

    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Larder(model) => model.weight(),
            Self::Row(row) => row.weight,
        }
    }
}

/// A queue: entries come in at one end and are evicted at the other.
pub(super) struct Row {
    entries: LruCache<u64, Arc<Kept>, Hashed>,
    /// Whether a use moves an entry back to the end at which it came in.
    moves: bool,
    memory: u64,
    room: u64,
    weight: u64,
    evictions: u64,
}

impl Row {
    fn get(&mut self, key: u64) -> Option<&Arc<Kept>> {
        if self.moves {
            self.entries.get(&key)
        } else {
            self.entries.peek(&key)
        }
    }

    fn insert(&mut self, key: u64, kept: Arc<Kept>) {
        let weight = kept.weight;
        if let Some(old) = self.entries.put(key, kept) {
            self.weight -= old.weight;
        }
        self.weight += weight;
        self.evict();
    }

    fn remove(&mut self, key: u64) {
        if let Some(old) = self.entries.pop(&key) {
            self.weight -= old.weight;
        }
    }

    fn evict(&mut self) {
        while self.weight > self.room
            && let Some((_, old)) = self.entries.pop_lru()
        {
            self.weight -= old.weight;
            self.evictions += 1;
        }
    }

    fn thin(&mut self, one_in: u64, stays: impl Fn(u64, &Kept) -> bool) {
        let gone = self
            .entries
            .iter()
            .filter(|(key, kept)| !stays(**key, kept))
            .map(|(key, _)| *key);
        for key in gone.collect::<Vec<_>>() {
            self.remove(key);
        }
        if self.memory != u64::MAX {
            self.room = self.memory / one_in.max(1);
        }
        self.evict();
    }
}
