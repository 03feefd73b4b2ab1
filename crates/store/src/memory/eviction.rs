//! What an entry weighs, and what happens to it when there is no room.

use super::{
    cache::entry_weight,
    key::Key,
    leaving::{self, Leaving},
};
use crate::{Variants, body::Block, disk::Disk};
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter, sync::Cache};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

pub(super) type Entries = Cache<Key, Variants, Weigh, DefaultHashBuilder, EvictionHook>;

/// Weighs an entry as the allocator does.
#[derive(Clone, Debug)]
pub(super) struct Weigh;

impl Weighter<Key, Variants> for Weigh {
    fn weight(&self, key: &Key, variants: &Variants) -> u64 {
        entry_weight(key.len()) + variants.weight()
    }
}

/// Where evicted responses go, and how many there were.
#[derive(Debug)]
pub(super) struct EvictionState {
    pub count: AtomicU64,
    pub disk: OnceLock<Arc<Disk>>,
    pub leaving: Leaving,
}

impl EvictionState {
    /// Nothing has been evicted yet, and there is no disk.
    pub fn new(leaving: Leaving) -> Self {
        Self {
            count: AtomicU64::new(0),
            disk: OnceLock::new(),
            leaving,
        }
    }
}

/// What has left the table during one call. It is freed once the table is unlocked: freeing takes system calls, and
/// every lookup waits for that lock. Only after that is it known who else holds any of it.
#[derive(Debug, Default)]
pub(super) struct Freed {
    all: Vec<(Key, Variants)>,
    evicted: Vec<Block>,
    from: Option<Arc<EvictionState>>,
}

impl Drop for Freed {
    fn drop(&mut self) {
        self.all.clear();
        if let Some(from) = &self.from {
            from.leaving.add(std::mem::take(&mut self.evicted));
        }
    }
}

/// Handles evictions, and keeps entries whose body is still on its way.
#[derive(Clone, Debug)]
pub(super) struct EvictionHook(pub Arc<EvictionState>);

impl Lifecycle<Key, Variants> for EvictionHook {
    type RequestState = Freed;

    fn is_pinned(&self, _key: &Key, variants: &Variants) -> bool {
        variants.is_filling()
    }

    // Runs while the table is locked: whatever is fetched for this key from now on reaches the disk later, and replaces
    // this.
    fn before_evict(&self, freed: &mut Freed, key: &Key, variants: &mut Variants) {
        self.0.count.fetch_add(1, Relaxed);
        freed.evicted.extend(leaving::blocks_of(variants, None));
        freed.from.get_or_insert_with(|| self.0.clone());
        let Some(disk) = self.0.disk.get() else {
            return;
        };
        // Asked before any of them is offered: the others would seem to be on the disk.
        let is_coming = disk.is_coming(key);
        for stored in variants.as_slice() {
            // The disk may have given up what it had, to make room for others.
            let is_there = is_coming || disk.has_version(key, stored);
            // A later version of what the disk has, or may have. It was not written because it does not last.
            let is_later = is_there && !stored.is_below();
            // The first use is the request that fetched it.
            let is_worth_it = stored.uses() > 1 && !is_there;
            let is_taken = (is_later || is_worth_it) && disk.demote(key, stored);
            if is_later && !is_taken {
                disk.forget_versions(key, stored);
            }
        }
    }

    // Replaced entries come here too.
    fn on_evict(&self, freed: &mut Freed, key: Key, variants: Variants) {
        freed.all.push((key, variants));
    }
}
