//! Which cache groups are invalidated together with a URI: those of the responses that are stored under it (RFC 9875
//! section 2.2.1).

use super::{invalidates, stored_keys, targets};
use crate::{
    ask::{Ask, Key},
    cache::Worker,
    marks,
};
use http::{HeaderMap, StatusCode};
use store::{
    Stored,
    disk::{self, Disk},
};

/// Returns the cache groups of what is in memory under `key`, which are invalidated with it (RFC 9875 section 2.2.1).
pub(super) fn groups_in_memory(worker: &Worker, key: &[u8]) -> Vec<String> {
    let variants = worker.cache.memory.peek(key);
    let all = variants.iter().flat_map(store::Variants::as_slice);
    all.flat_map(|stored| groups_of(stored)).collect()
}

/// Returns the cache groups of responses in the tiers below under the URIs that this exchange makes invalid. To be called
/// before they are invalidated: what is invalid is not found any more.
pub async fn groups_below(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    response: &HeaderMap,
) -> Vec<String> {
    let mut groups = Vec::new();
    let (disk, shared) = (&worker.cache.disk, &worker.cache.shared);
    if !invalidates(ask, status) || (disk.is_none() && shared.is_none()) {
        return groups;
    }
    let targets = targets(ask, response).into_iter();
    let mut distinct: Vec<Key> = Vec::new();
    for key in targets.flat_map(|uri| stored_keys(worker, ask, &uri)) {
        if !distinct.contains(&key) {
            distinct.push(key);
        }
    }
    let keys: Vec<_> = distinct.iter().map(Key::as_bytes).collect();
    if let Some(disk) = disk {
        groups = groups_on_disk(disk, &keys).await;
    }
    if let Some(shared) = shared {
        // Boxed because most sites have no such tier.
        let tags = Box::pin(shared.tags(&keys)).await;
        groups.extend(tags.iter().filter_map(|tag| group(tag)));
    }
    groups
}

async fn groups_on_disk(disk: &Disk, keys: &[&[u8]]) -> Vec<String> {
    let mut groups = Vec::new();
    for key in keys {
        let found = match disk.find(key, disk::Bodies::Left) {
            disk::DiskLookup::Nothing => continue,
            disk::DiskLookup::Here(found) => found,
            disk::DiskLookup::Wait(finding) => finding.await,
        };
        groups.extend(found.iter().flat_map(|stored| groups_of(stored)));
    }
    groups
}

fn groups_of(stored: &Stored) -> impl Iterator<Item = String> {
    let marks = stored.marks.iter();
    marks.flat_map(|marks| marks.texts()).filter_map(group)
}

/// Returns the name of a response if it is that of a cache group.
fn group(name: &str) -> Option<String> {
    marks::group(name).map(|_| name.to_owned())
}
