//! Tiers: what the tiers under memory are given, and what no tier may bring back.

mod disk;
mod withdraw;

pub use disk::{is_fetched_again, keep_asked_for, used};
pub use withdraw::{end_if_of_unknown_age, give_up, withdraw, withdraw_chosen};

use crate::cache::Worker;
use disk::keep_on_disk;
use std::sync::Arc;
use store::{Body, Stored, shared::Lease};

/// Offers a complete response to the tiers below.
pub fn keep(worker: &Worker, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
    if let Some(shared) = &worker.cache.shared
        && !matches!(stored.body, Body::Parts(_))
    {
        shared.keep(key, stored, lease);
    }
    keep_on_disk(worker, key, stored);
}

/// Like [`keep`], for `new`, which the origin's 304 has made of `old`. If each use brings such a 304, the tiers below
/// are left as they are: no request uses their response without asking the origin either.
pub fn keep_freshened(
    worker: &Worker,
    key: &[u8],
    old: &Stored,
    new: &Arc<Stored>,
    lease: Option<Lease>,
) {
    if !(old.facts.is_always_validated() && new.facts.is_always_validated()) {
        keep(worker, key, new, lease);
    } else if old.is_below() {
        new.set_below();
    } else {
        keep_on_disk(worker, key, new);
    }
}
