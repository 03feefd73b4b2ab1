//! The memory tier's eviction without contents: computes from weights alone what would be kept in a given number of
//! bytes.

pub use crate::memory::largest_body;

use crate::memory;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter, sync::Cache};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A model of what [`Memory`](crate::Memory) would keep of entries with known weights. It is the same cache with the
/// same settings and the same rule of eviction, over values that only have the weight of an entry.
#[derive(Debug)]
pub struct Model<V> {
    entries: Entries<V>,
    limit: u64,
    evictions: Arc<AtomicU64>,
}

type Entries<V> = Cache<u64, (u64, V), GivenWeight, DefaultHashBuilder, Counted>;

impl<V: Clone> Model<V> {
    /// Creates the model of a memory tier of `limit` bytes, of which only one key in `one_in` is looked at.
    pub fn new(limit: u64, one_in: u64) -> Self {
        let evictions = Arc::new(AtomicU64::new(0));
        let entries = memory::entries(
            limit,
            one_in.max(1),
            GivenWeight,
            Counted(evictions.clone()),
        );
        Self {
            entries,
            limit,
            evictions,
        }
    }

    /// Returns what is kept under `key`, and counts it as a use.
    pub fn get(&self, key: u64) -> Option<V> {
        self.entries.get(&key).map(|(_, value)| value)
    }

    /// Keeps `value`, whose entry weighs `weight` bytes.
    pub fn insert(&self, key: u64, weight: u64, value: V) {
        let entry = (weight, value);
        if let Err((key, entry)) = self.entries.replace(key, entry, true) {
            self.entries.insert(key, entry);
        }
    }

    /// Forgets what is kept under `key`.
    pub fn remove(&self, key: u64) {
        self.entries.remove(&key);
    }

    /// Looks at only one key in `one_in` from now on: keeps the entries that `stays` accepts, in room that is smaller
    /// by that factor.
    pub fn thin(&self, one_in: u64, stays: impl Fn(u64, &V) -> bool) {
        self.entries.retain(|key, (_, value)| stays(*key, value));
        self.entries
            .set_capacity(memory::most_stored(self.limit) / one_in.max(1));
    }

    /// Entries evicted for room so far.
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Relaxed)
    }

    /// Bytes that the entries kept now would take.
    pub fn weight(&self) -> u64 {
        self.entries.weight()
    }
}

/// What an entry of one response weighs, besides the other variants of its key. `key`, `fields` and `body` are in
/// bytes.
pub fn weight(key: usize, fields: usize, body: u64) -> u64 {
    let body = usize::try_from(body).unwrap_or(usize::MAX / 2);
    memory::entry_weight(key) + crate::stored::weight_of(fields, body)
}

/// Weighs an entry by the weight beside its value.
#[derive(Clone, Debug)]
struct GivenWeight;

impl<V> Weighter<u64, (u64, V)> for GivenWeight {
    fn weight(&self, _key: &u64, (weight, _): &(u64, V)) -> u64 {
        *weight
    }
}

#[derive(Clone, Debug)]
struct Counted(Arc<AtomicU64>);

impl<V> Lifecycle<u64, (u64, V)> for Counted {
    type RequestState = ();

    fn before_evict(&self, _state: &mut (), _key: &u64, _value: &mut (u64, V)) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Fields, Memory, Stored, arena, purge::Log};
    use http::{HeaderMap, HeaderValue, StatusCode, header};

    /// A simulation calculates with the figures of the tier itself, wherever the tier puts a body of this size.
    #[test]
    fn weighs_as_the_tier_does() {
        arena::open(64 << 20).expect("a file in memory");
        let (log, facts) = (
            Arc::new(Log::default()),
            crate::sample::any_request(10).facts,
        );
        let mut fields = HeaderMap::new();
        fields.insert(
            header::SERVER,
            HeaderValue::from_str(&"v".repeat(254)).expect("valid"),
        );
        let fields = Fields::pack(&fields);
        for (key, body) in [
            ("http://a.example/", 0),
            ("http://a.example/p?x=1", 1000),
            ("http://a.example/apart", 1024),
            (
                "http://a.example/which-is-so-long-that-it-lies-beside-the-table",
                8000,
            ),
            ("k", 20_000),
            ("k", 70_000),
        ] {
            let memory = Memory::new(64 << 20, log.clone());
            let whole = Body::kept(vec![vec![b'x'; body].into()], body);
            let (status, fields) = (StatusCode::OK, fields.clone());
            let stored = Stored::new(0, status, fields.clone(), facts, None, None, whole);
            let kept = memory.insert(key.as_bytes(), memory.begin(), Arc::new(stored), 8);
            kept.expect("kept");
            let told = weight(key.len(), fields.len(), body as u64);
            assert_eq!(memory.statistics().stored, told, "{key}");
        }
    }

    #[test]
    fn keeps_what_is_asked_for_often() {
        let model = Model::new(100_000, 1);
        for round in 0..50 {
            for hot in 0..20 {
                if model.get(hot).is_none() {
                    model.insert(hot, 1000, ());
                }
            }
            for scan in 0..200 {
                model.insert(1000 + round * 200 + scan, 1000, ());
            }
        }
        let kept = (0..20).filter(|key| model.get(*key).is_some()).count();
        assert_eq!(kept, 20, "a scan does not push out what is asked for often");
        assert!(model.evictions() > 9000);
        assert!(model.weight() <= 100_000);
        model.thin(2, |key, ()| key % 2 == 0);
        assert!(model.weight() <= 50_000);
        assert_eq!((model.get(1), model.get(2)), (None, Some(())));
    }
}
