//! Invalidate: what a successful unsafe request makes invalid (RFC 9111 section 4.4, RFC 9875 section 3).

mod groups;
mod undecided;

pub use groups::groups_below;
pub use undecided::Undecided;

use crate::{
    ask::{Ask, Key},
    cache::{Worker, WorkerSite},
    clock,
    outcome::bump,
    purging,
};
use groups::groups_in_memory;
use http::{HeaderMap, StatusCode};
use rules::{invalidate, surrogate};
use std::{iter, rc::Rc};
use store::purge::{Address, Purge, What};

/// Invalidates what this exchange makes invalid: the target; `Location` and `Content-Location` of the same origin;
/// cache groups; and `below`, the groups of responses in the tiers below ([`groups_below`]). Returns how many entries of
/// the log that takes.
pub fn invalidate(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    response: &HeaderMap,
    below: Vec<String>,
) -> u64 {
    if !invalidates(ask, status) {
        return 0;
    }
    let targets = targets(ask, response).into_iter();
    let invalidated = targets.map(|uri| Certainty::Changed.invalidate(worker, ask, &uri));
    let mut entries: u64 = invalidated.sum();
    let named = surrogate::invalidated_groups(response);
    let mut groups = ask.groups(&named);
    groups.extend(below);
    groups.sort_unstable();
    groups.dedup();
    entries += Certainty::Changed.purge_groups(worker, groups);
    bump(&worker.counters.invalidations);
    entries
}

/// Whether an answer of `status` makes anything invalid.
pub fn invalidates(ask: &Ask, status: StatusCode) -> bool {
    invalidate::invalidates(&ask.method, status) && !ask.leaves_stored_responses()
}

/// Returns the target URI with its whole query: the routes of other requests may key parameters that this request's
/// route does not.
fn target(ask: &Ask) -> String {
    let (path, query) = ask.target.normal();
    let mut target = [ask.scheme, "://", ask.host(), &path].concat();
    if let Some(query) = query {
        target.push('?');
        target.push_str(&query);
    }
    target
}

/// Returns the URIs that an exchange makes invalid.
pub fn targets(ask: &Ask, response: &HeaderMap) -> Vec<String> {
    let target = target(ask);
    let mut all = invalidate::others(response, &target, ask.known_as());
    all.insert(0, target);
    all
}

/// Returns the configurations by which responses are stored while this exchange ends: its own, since other requests
/// from before a reload may still be under way, and the current one.
fn sites(worker: &Worker, ask: &Ask) -> impl Iterator<Item = WorkerSite> {
    let current = worker.site();
    let is_reloaded = !Rc::ptr_eq(&current, &ask.site);
    iter::once(ask.site.clone()).chain(is_reloaded.then_some(current))
}

/// Returns the keys under which something may be stored for a GET for `uri` with the fields of `ask`, each once.
fn stored_keys(worker: &Worker, ask: &Ask, uri: &str) -> Vec<Key> {
    let mut distinct = Vec::new();
    for key in sites(worker, ask).flat_map(|site| purging::stored_keys(&site, ask, uri)) {
        if !distinct.contains(&key) {
            distinct.push(key);
        }
    }
    distinct
}

/// How certain it is that stored responses are out of date.
#[derive(Clone, Copy)]
enum Certainty {
    /// The origin has said so: no request gets them any more.
    Changed,
    /// It is not known: they become stale.
    MayHaveChanged,
}

impl Certainty {
    /// Invalidates every stored response of `uri`, whatever else its key holds, and what is grouped with it. Returns
    /// how many entries of the log that takes.
    fn invalidate(self, worker: &Worker, ask: &Ask, uri: &str) -> u64 {
        let mut entries = 0;
        let keys: Vec<_> = sites(worker, ask)
            .flat_map(|site| purging::keys(&site, uri))
            .collect();
        for key in stored_keys(worker, ask, uri) {
            entries += self.purge_groups(worker, groups_in_memory(worker, key.as_bytes()));
        }
        let mut urls: Vec<_> = keys
            .iter()
            .map(|key| Address::of(key.as_bytes()).text())
            .collect();
        urls.sort_unstable();
        urls.dedup();
        if !urls.is_empty() {
            self.purge(worker, What::Url(urls));
            entries += 1;
        }
        entries
    }

    fn purge_groups(self, worker: &Worker, groups: Vec<String>) -> u64 {
        if groups.is_empty() {
            return 0;
        }
        self.purge(worker, What::Tags(groups));
        1
    }

    fn purge(self, worker: &Worker, what: What) {
        let purge = Purge {
            what,
            soft: matches!(self, Self::MayHaveChanged),
        };
        worker.cache.purger.invalidate(purge, clock::now());
    }
}
