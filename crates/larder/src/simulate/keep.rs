//! What is kept in so many bytes, by each rule of eviction.

use super::{
    event::{Event, Kept},
    plan::Eviction,
    urls::Hashed,
};
use lru::LruCache;
use std::sync::Arc;
use store::model::Model;

/// What a simulated store keeps.
pub(super) enum Keep {
    /// As the server does.
    Larder(Model<Held>),
    /// In a row, for reference.
    Row(Row),
}

/// An answer that is kept.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub kept: Arc<Kept>,
    /// What there was before, which goes on being used until it is there.
    pub before: Option<Arc<Kept>>,
}

/// What there is of a key at some moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// What a request finds.
    pub here: Option<Arc<Kept>>,
    /// What is on its way meanwhile.
    pub coming: Option<Arc<Kept>>,
}

impl Held {
    /// What `event` sees of it.
    pub(super) fn seen(self, event: &Event) -> Seen {
        let stands = |kept: &Arc<Kept>| kept.number >= event.invalid_before;
        let is_here = |kept: &Arc<Kept>| kept.facts.response_time <= event.now;
        let kept = Some(self.kept).filter(stands);
        if kept.as_ref().is_some_and(is_here) {
            return Seen {
                here: kept,
                coming: None,
            };
        }
        let before = self.before.filter(stands);
        if before.as_ref().is_none_or(is_here) {
            Seen {
                here: before,
                coming: kept,
            }
        } else {
            // Of two on their way the first is waited for.
            Seen {
                here: None,
                coming: before,
            }
        }
    }
}

impl Keep {
    pub(super) fn new(eviction: Eviction, memory: Option<u64>) -> Self {
        match (eviction, memory) {
            (Eviction::Larder, Some(memory)) => Self::Larder(Model::new(memory, 1)),
            // Where nothing is evicted all rules are one.
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

    pub(super) fn get(&mut self, key: u64) -> Option<Held> {
        match self {
            Self::Larder(model) => model.get(key),
            Self::Row(row) => row.get(key).cloned(),
        }
    }

    pub(super) fn insert(&mut self, key: u64, held: Held) {
        match self {
            Self::Larder(model) => model.insert(key, held.kept.weight, held),
            Self::Row(row) => row.insert(key, held),
        }
    }

    pub(super) fn remove(&mut self, key: u64) {
        match self {
            Self::Larder(model) => model.remove(key),
            Self::Row(row) => row.remove(key),
        }
    }

    /// Goes on with one key in `one_in`, those that `stays` names.
    pub(super) fn thin(&mut self, one_in: u64, stays: impl Fn(u64, &Held) -> bool) {
        match self {
            Self::Larder(model) => model.thin(one_in, stays),
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

/// What is evicted from one end, and comes in at the other.
pub(super) struct Row {
    entries: LruCache<u64, Held, Hashed>,
    /// Whether a use moves an entry to the end at which it came in.
    moves: bool,
    memory: u64,
    room: u64,
    weight: u64,
    evictions: u64,
}

impl Row {
    fn get(&mut self, key: u64) -> Option<&Held> {
        if self.moves {
            self.entries.get(&key)
        } else {
            self.entries.peek(&key)
        }
    }

    fn insert(&mut self, key: u64, held: Held) {
        let weight = held.kept.weight;
        if let Some(old) = self.entries.put(key, held) {
            self.weight -= old.kept.weight;
        }
        self.weight += weight;
        self.evict();
    }

    fn remove(&mut self, key: u64) {
        if let Some(old) = self.entries.pop(&key) {
            self.weight -= old.kept.weight;
        }
    }

    fn evict(&mut self) {
        while self.weight > self.room
            && let Some((_, old)) = self.entries.pop_lru()
        {
            self.weight -= old.kept.weight;
            self.evictions += 1;
        }
    }

    fn thin(&mut self, one_in: u64, stays: impl Fn(u64, &Held) -> bool) {
        let gone = self
            .entries
            .iter()
            .filter(|(key, held)| !stays(**key, held))
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
