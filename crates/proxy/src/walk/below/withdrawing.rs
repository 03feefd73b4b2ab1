//! What is out of date goes from memory, and the tiers below will not bring it back.

use crate::{cache::Worker, clock};
use std::sync::Arc;
use store::{
    Stored,
    disk::Disk,
    purge::{Address, Purge, What},
};

/// What is stored is out of date: it goes from memory, and the tiers below will not bring it back, also after a restart.
pub fn withdraw(worker: &Worker, key: &[u8], stored: &Stored) {
    withdraw_all(worker, key, [stored]);
}

/// As [`withdraw`], of several responses of `key`. Where a tier below may have any of them and cannot let go of a variant alone, all that
/// was received under `key` until now goes.
pub fn withdraw_all<'a>(worker: &Worker, key: &[u8], all: impl IntoIterator<Item = &'a Stored>) {
    let (memory, shared) = (&worker.cache.memory, &worker.cache.shared);
    let all: Vec<_> = all.into_iter().collect();
    for stored in &all {
        memory.give_up(key, stored);
    }
    let disk = worker.cache.disk.as_ref();
    let is_below = shared.is_some()
        || all.iter().any(|stored| stored.is_below())
        || disk.is_some_and(|disk| disk.knows(key));
    if all.is_empty() || !is_below {
        return;
    }
    let are_variants = all.iter().any(|stored| stored.variant.is_some());
    match disk {
        // While the index is being read, nothing is written that would be there after a restart.
        Some(disk) if are_variants && shared.is_none() && disk.is_whole() => {
            for stored in all {
                leave_disk(worker, disk, key, stored);
            }
        }
        _ => worker.cache.purger.invalidate(all_of(key), clock::now()),
    }
}

/// What is stored is out of date, and something newer is about to stand beside it: it goes from memory, and from the disk.
pub fn give_up(worker: &Worker, key: &[u8], stored: &Stored) {
    worker.cache.memory.give_up(key, stored);
    if let Some(disk) = &worker.cache.disk
        && disk.knows(key)
    {
        leave_disk(worker, disk, key, stored);
    }
}

/// The disk forgets this variant, and has in its place, after a restart as well, that it was given up.
pub(super) fn leave_disk(worker: &Worker, disk: &Disk, key: &[u8], stored: &Stored) {
    disk.forget_versions(key, stored);
    let given_up = stored.given_up(worker.cache.memory.log().head());
    if !disk.offer(key, &Arc::new(given_up)) {
        let (purger, now) = (&worker.cache.purger, clock::now());
        purger.invalidate_here(all_of(key), now);
    }
}

/// The purge of all that is stored under `key`.
pub(super) fn all_of(key: &[u8]) -> Purge {
    let url = Address::of(key).text();
    Purge::hard(What::Url(vec![url]))
}
