//! Invalidate: what a successful unsafe request makes invalid (RFC 9111 section 4.4, RFC 9875 section 3).

use crate::{
    ask::{Ask, Key},
    cache::Worker,
    clock, marks,
    outcome::bump,
    purging,
};
use http::{HeaderMap, StatusCode};
use rules::{invalidate, surrogate};
use std::rc::Rc;
use store::{
    Stored,
    disk::{self, Disk},
    purge::{Address, Purge, What},
};

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
    for key in targets.flat_map(|uri| purging::stored_keys(ask, &uri)) {
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

/// An unsafe request that may have reached its origin, which may have done what it was asked to.
///
/// If this is dropped before it is [decided](Self::decided), e.g. because the client leaves, the target is stale from
/// then on. If the origin fails for all clients, the stored response can still stand in. If it was
/// [answered](Self::answered), all that its success makes invalid is invalidated on drop.
pub struct Undecided {
    worker: Rc<Worker>,
    ask: Rc<Ask>,
    end: End,
}

/// What is known of how such a request ended.
enum End {
    /// Nothing yet.
    Unheard,
    /// A success, with these fields.
    Success(StatusCode, HeaderMap),
    /// Nothing is left to do.
    Decided,
}

impl Undecided {
    /// Begins before the request goes out.
    pub fn begin(worker: &Rc<Worker>, ask: &Rc<Ask>) -> Self {
        Self {
            worker: Rc::clone(worker),
            ask: Rc::clone(ask),
            end: if invalidates(ask, StatusCode::OK) {
                End::Unheard
            } else {
                End::Decided
            },
        }
    }

    /// Says that this answer has come. What it makes invalid is still to be found out completely.
    pub fn answered(&mut self, status: StatusCode, response: &HeaderMap) {
        if let End::Unheard = self.end {
            self.end = if invalidates(&self.ask, status) {
                End::Success(status, response.clone())
            } else {
                End::Decided
            };
        }
    }

    /// Says that the request never went out, or that the caller, which has its answer, does what is to be done.
    pub fn decided(&mut self) {
        self.end = End::Decided;
    }
}

impl Drop for Undecided {
    fn drop(&mut self) {
        let (worker, ask) = (&self.worker, &self.ask);
        // The groups of responses below are left out, since they would have to be waited for.
        match &self.end {
            End::Unheard => {
                Certainty::MayHaveChanged.invalidate(worker, ask, &target(ask));
                bump(&worker.counters.invalidations);
            }
            End::Success(status, response) => {
                invalidate(worker, ask, *status, response, Vec::new());
            }
            End::Decided => {}
        }
    }
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
        let keys = purging::keys(&ask.site, uri);
        for key in purging::stored_keys(ask, uri) {
            entries += self.purge_groups(worker, groups_in_memory(worker, key.as_bytes()));
        }
        let mut urls: Vec<_> = keys
            .iter()
            .map(|key| Address::of(key.as_bytes()).text())
            .collect();
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

/// Returns the cache groups of what is in memory under `key`, which are invalidated with it (RFC 9875 section 2.2.1).
fn groups_in_memory(worker: &Worker, key: &[u8]) -> Vec<String> {
    let variants = worker.cache.memory.peek(key);
    let all = variants.iter().flat_map(store::Variants::as_slice);
    all.flat_map(|stored| groups_of(stored)).collect()
}

fn groups_of(stored: &Stored) -> impl Iterator<Item = String> {
    let marks = stored.marks.iter();
    marks.flat_map(|marks| marks.texts()).filter_map(group)
}

/// Returns the name of a response if it is that of a cache group.
fn group(name: &str) -> Option<String> {
    marks::group(name).map(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use http::Method;

    type Heard<'a> = Option<(StatusCode, &'a HeaderMap)>;

    /// RFC 9111 section 4.4: what a success changed MUST be invalidated, whether its client hears of it or not.
    #[test]
    fn a_success_makes_invalid_what_an_unheard_end_makes_stale() {
        let success = sample::fields(&[("location", "/new")]);
        let rows: [(Heard, [bool; 2], bool); 3] = [
            (None, [false, false], true),
            (Some((StatusCode::CREATED, &success)), [true, true], true),
            (
                Some((StatusCode::NOT_FOUND, &success)),
                [false, false],
                false,
            ),
        ];
        for (heard, gone, is_purged) in rows {
            let worker = sample::worker(&sample::memory());
            let site = sample::site(sample::policy(sample::key_spec()));
            let mut ask = sample::ask(site, None, HeaderMap::new());
            ask.method = Method::POST;
            let memory = &worker.cache.memory;
            let (before, head) = (memory.begin(), memory.log().head());
            let mut undecided = Undecided::begin(&worker, &Rc::new(ask));
            if let Some((status, fields)) = heard {
                undecided.answered(status, fields);
            }
            drop(undecided);
            let is_gone = |path: &str| {
                let key = format!("http://shop.example{path}");
                memory.log().refuses(key.as_bytes(), None, before.log_at)
            };
            assert_eq!([is_gone("/p"), is_gone("/new")], gone, "{heard:?}");
            assert_eq!(memory.log().head() > head, is_purged, "{heard:?}");
        }
    }
}
