//! The cache below the memory tier: its settings, and what an entry weighs. A model of the tier uses the same.

use super::{
    capacity::{self, Steps},
    key::Key,
};
use crate::body::allocated;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter, sync::Cache};
use std::hash::Hash;

/// The bytes that an entry costs beside what its [`Stored`](crate::Stored) holds: the table's slot (with room to grow),
/// key and value.
const ENTRY: u64 = 184;

/// Makes a cache with this tier's settings for `limit` bytes, scaled to hold one key in `one_in`.
pub(crate) fn entries<K, V, W, L>(
    limit: u64,
    one_in: u64,
    weigh: W,
    lifecycle: L,
) -> Cache<K, V, W, DefaultHashBuilder, L>
where
    K: Eq + Hash,
    V: Clone,
    W: Weighter<K, V> + Clone,
    L: Lifecycle<K, V> + Clone,
{
    let shards = shards(limit);
    let capacity = most_stored(limit) / one_in;
    let about = (capacity::about(limit) / one_in).max(64);
    let options = OptionsBuilder::new()
        .weight_capacity(capacity)
        .hot_allocation(capacity::HOT)
        .estimated_items_capacity(capacity::expected(about, shards) as usize)
        .shards(shards as usize)
        .build();
    let hasher = DefaultHashBuilder::default();
    match options {
        Ok(options) => Cache::with_options(options, weigh, hasher, lifecycle),
        // All required options are set above. Failing that: the same cache without our choice of shards.
        Err(_) => Cache::with(1024, capacity, weigh, hasher, lifecycle),
    }
}

/// The most bytes of a tier's `limit` that are stored, in whole steps.
pub(crate) fn most_stored(limit: u64) -> u64 {
    Steps::of(limit, shards(limit)).most()
}

/// The bytes of a tier's `limit` that may be stored. The rest is for answers that pass while slow clients hold
/// everything else: each has a little.
pub(super) fn for_stored(limit: u64) -> u64 {
    const SMALL: u64 = 1 << 20;
    limit - (limit / 32).max(SMALL.min(limit / 8))
}

/// The largest body that a memory tier of `limit` bytes keeps: a larger one would leave no room for others.
pub fn largest_body(limit: u64) -> u64 {
    let shard = limit / shards(limit);
    shard.min(limit / 2) / 2
}

/// The weight of an entry beside its variants, with a key of `key` bytes.
pub(crate) fn entry_weight(key: usize) -> u64 {
    ENTRY + Key::apart(key).map_or(0, allocated)
}

/// The number of shards: few enough that a large body fits into one, enough that workers seldom meet. A power of two.
fn shards(limit: u64) -> u64 {
    const ROOM: u64 = 128 << 20;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let shards = ((limit / ROOM) as usize).clamp(1, workers * 4);
    shards.next_power_of_two() as u64
}
