//! What is out of date, and must not come back from any tier.

use crate::{ask::Ask, cache::Worker, clock};
use rules::time::Time;
use std::sync::Arc;
use store::{
    Stored, Ticket, Variants,
    purge::{Address, Purge, What},
};

/// Removes from memory a response that the answer to the fetch numbered `fetch` shows to be out of date. Neither the
/// tiers below nor the answer to an earlier fetch will bring it back.
pub fn withdraw(worker: &Worker, key: &[u8], stored: &Stored, fetch: u64) {
    withdraw_all(worker, key, [stored], fetch);
}

/// Like [`withdraw`], for several responses of `key`. If a tier below may have any of them, all that was received under
/// `key` until now goes, also after a restart.
fn withdraw_all<'a>(
    worker: &Worker,
    key: &[u8],
    all: impl IntoIterator<Item = &'a Stored>,
    fetch: u64,
) {
    let (mut is_any, mut is_below) = (false, worker.cache.shared.is_some());
    for stored in all {
        worker.cache.memory.withdraw(key, stored, fetch);
        is_any = true;
        is_below |= stored.is_below();
    }
    if is_any && (is_below || is_on_disk(worker, key)) {
        worker.cache.purger.invalidate(all_of(key), clock::now());
    }
}

/// Like [`withdraw`], for all that could have been chosen for `ask`: `selected`, and what memory has, except what a later
/// request than that of `ticket` has brought.
pub fn withdraw_chosen(worker: &Worker, ask: &Ask, selected: Option<&Stored>, ticket: Ticket) {
    let key = ask.key.as_bytes();
    let here = worker.cache.memory.peek(key);
    let mut scratch = Vec::new();
    let others = here.iter().flat_map(Variants::as_slice).filter(|stored| {
        selected.is_none_or(|selected| selected.id() != stored.id())
            && !stored.is_later_than(ticket)
            && stored.matches(&ask.fields, &mut scratch)
    });
    let all = selected.into_iter().chain(others.map(|stored| &**stored));
    withdraw_all(worker, key, all, ticket.number);
}

/// Ends a response that is [of unknown age](rules::freshness::Facts::with_age_unknown) at `now`, so that no tier has it
/// fresh when the clock comes to what it said at receipt. Returns it as it is from now on.
pub fn end_if_of_unknown_age(
    worker: &Worker,
    key: &[u8],
    stored: Arc<Stored>,
    now: Time,
) -> Arc<Stored> {
    let Some(ended) = stored.with_age_unknown(now) else {
        return stored;
    };
    let (cache, ended) = (&worker.cache, Arc::new(ended));
    cache.memory.exchange(key, &stored, &ended);
    if cache.shared.is_some() || stored.is_below() || is_on_disk(worker, key) {
        let all = Purge::soft(all_of(key).what);
        cache.purger.invalidate_here(all, now);
    }
    ended
}

fn is_on_disk(worker: &Worker, key: &[u8]) -> bool {
    let disk = worker.cache.disk.as_ref();
    disk.is_some_and(|disk| disk.knows(key))
}

/// Removes an out-of-date response when a newer one is about to stand beside it, which [`withdraw`] would remove too.
/// It goes from memory, and the disk forgets it. In its place the disk has, also after a restart, that it was given up.
pub fn give_up(worker: &Worker, key: &[u8], stored: &Stored) {
    worker.cache.memory.give_up(key, stored);
    let Some(disk) = &worker.cache.disk else {
        return;
    };
    if !disk.knows(key) {
        return;
    }
    disk.forget(key);
    let given_up = stored.given_up(worker.cache.memory.log().head());
    if !disk.offer(key, &Arc::new(given_up)) {
        worker
            .cache
            .purger
            .invalidate_here(all_of(key), clock::now());
    }
}

/// Returns the purge of all that is stored under `key`.
pub(super) fn all_of(key: &[u8]) -> Purge {
    let url = Address::of(key).text();
    Purge::hard(What::Url(vec![url]))
}
