//! Invalidate: what a successful unsafe request makes invalid (RFC 9111 section 4.4, RFC 9875 section 3).

use crate::{
    ask::Ask,
    cache::Worker,
    outcome::bump,
    purging,
    walk::{
        admit::{group_mark, is_group_mark},
        receive,
    },
};
use http::{HeaderMap, StatusCode};
use rules::{invalidate, surrogate};
use store::purge::{Address, Purge, What};

/// Invalidates what this exchange says: the target, `Location` and `Content-Location` of the same origin, cache groups.
pub fn invalidate(worker: &Worker, ask: &Ask, status: StatusCode, response: &HeaderMap) {
    if !invalidate::invalidates(&ask.method, status) {
        return;
    }
    let target = ask.uri();
    forget(worker, ask, &target);
    for other in invalidate::others(response, &target) {
        forget(worker, ask, &other);
    }
    let groups = surrogate::invalidated_groups(response).into_iter();
    purge_groups(
        worker,
        groups
            .map(|group| group_mark(ask.scheme, ask.host(), &group))
            .collect(),
    );
    bump(&worker.counters.invalidations);
}

/// Forgets every stored response of `uri`, whatever its key holds besides, and what is grouped with it.
fn forget(worker: &Worker, ask: &Ask, uri: &str) {
    let keys = purging::keys(&ask.site, uri);
    for key in &keys {
        purge_groups(worker, groups_of(worker, key.as_bytes()));
        worker.cache.flights.forget(key.as_bytes());
    }
    let mut urls: Vec<_> = keys
        .iter()
        .map(|key| Address::of(key.as_bytes()).text())
        .collect();
    urls.dedup();
    if !urls.is_empty() {
        let purge = Purge::hard(What::Url(urls));
        worker.cache.purger.invalidate(purge, receive::now());
    }
}

fn purge_groups(worker: &Worker, groups: Vec<String>) {
    if !groups.is_empty() {
        let purge = Purge::hard(What::Tags(groups));
        worker.cache.purger.invalidate(purge, receive::now());
    }
}

/// What is stored under `key` takes its cache groups with it (RFC 9875 section 2.2.1).
fn groups_of(worker: &Worker, key: &[u8]) -> Vec<String> {
    let Some(variants) = worker.cache.memory.peek(key) else {
        return Vec::new();
    };
    let marks = variants
        .as_slice()
        .iter()
        .filter_map(|stored| stored.marks.as_ref());
    marks
        .flat_map(|marks| marks.texts())
        .filter(|name| is_group_mark(name))
        .map(str::to_owned)
        .collect()
}
