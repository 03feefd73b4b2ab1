//! What an entry weighs, and what becomes of it when there is no room.

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

pub(super) type Entries = Cache<Key, Variants, Weigh, DefaultHashBuilder, Evictions>;

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
pub(super) struct Demoted {
    pub count: AtomicU64,
    pub disk: OnceLock<Arc<Disk>>,
    pub leaving: Leaving,
}

impl Demoted {
    /// Nothing was evicted yet, and there is no disk to take it.
    pub fn new(leaving: Leaving) -> Self {
        Self {
            count: AtomicU64::new(0),
            disk: OnceLock::new(),
            leaving,
        }
    }
}

/// What has left the table during one call. It is freed when the table is not locked any more: giving memory back takes system calls, and
/// whoever looks something up waits for that lock. Only then is it seen who else holds any of it.
#[derive(Debug, Default)]
pub(super) struct Freed {
    all: Vec<(Key, Variants)>,
    evicted: Vec<Block>,
    from: Option<Arc<Demoted>>,
}

impl Drop for Freed {
    fn drop(&mut self) {
        self.all.clear();
        if let Some(from) = &self.from {
            from.leaving.add(std::mem::take(&mut self.evicted));
        }
    }
}

/// Looks after evictions, and keeps entries whose body is still on its way.
#[derive(Clone, Debug)]
pub(super) struct Evictions(pub Arc<Demoted>);

impl Lifecycle<Key, Variants> for Evictions {
    type RequestState = Freed;

    fn is_pinned(&self, _key: &Key, variants: &Variants) -> bool {
        variants.is_filling()
    }

    // While the table is locked: what is fetched of this key from now on comes to the disk later, and takes the place of this.
    fn before_evict(&self, freed: &mut Freed, key: &Key, variants: &mut Variants) {
        self.0.count.fetch_add(1, Relaxed);
        freed.evicted.extend(leaving::blocks_of(variants, None));
        freed.from.get_or_insert_with(|| self.0.clone());
        let Some(disk) = self.0.disk.get() else {
            return;
        };
        // Asked before any of them is offered: the others would seem to be there.
        let is_coming = disk.is_coming(key);
        for stored in variants.as_slice() {
            // What the disk had it may have given up for others.
            let is_there = is_coming || disk.has_version(key, stored);
            // A later version of what it has, or may have, which was not written since it does not last.
            let is_later = is_there && !stored.is_below();
            // The request that fetched it was the first.
            let is_worth_it = stored.uses() > 1 && !is_there;
            let is_taken = (is_later || is_worth_it) && disk.demote(key, stored);
            if is_later && !is_taken {
                disk.forget_versions(key, stored);
            }
        }
    }

    // What is replaced comes here too.
    fn on_evict(&self, freed: &mut Freed, key: Key, variants: Variants) {
        freed.all.push((key, variants));
    }
}
