//! What is worth writing to disk.

use super::withdraw::all_of;
use crate::{
    ask::Ask,
    cache::{Cache, Worker},
    clock,
    outcome::Outcome,
};
use rules::status::Handled;
use std::{sync::Arc, time::Duration};
use store::{Stored, disk::Disk};

/// A response that can be used for less time than this, fresh and stale together, is not written to disk: it would be
/// written again and again.
const WORTH_WRITING: Duration = Duration::from_secs(30);

/// Whether a response can be used for long enough to be worth writing to disk.
fn lasts(stored: &Stored) -> bool {
    stored.facts.useful() >= WORTH_WRITING
}

/// Notes about what was fetched lately: that the disk's response of this [variant](place_of) does not [last](lasts), or
/// that it may.
const SHORT: u8 = 1;
const MAY_LAST: u8 = 0;

/// The key of the note about a response: its key and variant, since the disk has one response for each.
fn place_of(key: &[u8], stored: &Stored) -> Vec<u8> {
    let variant = stored.variant.as_ref().map(|variant| variant.digest());
    [key, &variant.unwrap_or_default().to_be_bytes()].concat()
}

/// Offers a response to the disk if it has an older one of its key, or if memory has lost the response since it was
/// last fetched. A response that does not last replaces one that may, which would otherwise answer again after a
/// restart. It does not replace another that does not last either.
pub(super) fn keep_on_disk(worker: &Worker, key: &[u8], stored: &Arc<Stored>) {
    let Some(disk) = &worker.cache.disk else {
        return;
    };
    let fetched = &worker.cache.fetched;
    let again = is_fetched_again(&worker.cache, key);
    let place = place_of(key, stored);
    let has_short = fetched.noted(&place) == Some(SHORT);
    let (lasts, knows) = (lasts(stored), disk.knows(key));
    if knows && !lasts {
        fetched.note(&place, SHORT);
    } else {
        fetched.forget(&place);
    }
    let wanted = if lasts {
        stored.body.is_on_disk() || knows || again
    } else {
        knows && !has_short
    };
    if !wanted {
        return;
    }
    if offer(worker, disk, key, stored).is_none() && knows && !disk.withhold(key) {
        // Nothing is better than an older response, here and in memory: the log knows no time between the two. Other
        // nodes have disks of their own.
        disk.forget(key);
        worker
            .cache
            .purger
            .invalidate_here(all_of(key), clock::now());
    }
}

/// Notes that something is fetched for `key`. Returns whether that happened lately.
pub fn is_fetched_again(cache: &Cache, key: &[u8]) -> bool {
    let (fetched, now) = (&cache.fetched, clock::now());
    let again = fetched.knows(key, now);
    fetched.remember(key, MAY_LAST, now);
    again
}

/// The disk is told of this many uses together.
const TOLD: u64 = 256;

/// Counts a use. A response that is asked for again is worth writing to disk and keeping there. This is on the path of
/// a hit.
pub fn used(worker: &Worker, ask: &Ask, stored: &Arc<Stored>, outcome: &Outcome) {
    let uses = stored.used() + 1;
    let is_new = matches!(outcome.handled, Handled::Forwarded { stored: true, .. });
    // At the first hit, which is the second request; seldom again if the disk did not take it.
    let is_told = uses.is_power_of_two() || uses.is_multiple_of(TOLD);
    if !is_told || (uses == 1 && is_new) {
        return;
    }
    keep_asked_for(worker, ask.key.as_bytes(), stored);
}

/// Offers a response that is asked for again to the disk, unless the disk still has it. A response on its way is not
/// taken: it is offered once it is complete.
///
/// What memory does not hold was made for one client, or has been replaced: it is for no other request.
pub fn keep_asked_for(worker: &Worker, key: &[u8], stored: &Arc<Stored>) {
    if let Some(disk) = &worker.cache.disk
        && !(stored.is_below() && disk.uses(key))
        && lasts(stored)
        && is_held(worker, key, stored)
        && let Some(last) = offer(worker, disk, key, stored)
    {
        worker.cache.fetched.forget(&place_of(key, stored));
        if !is_held(worker, key, &last) {
            // It was given up meanwhile, perhaps before the disk knew of it.
            disk.forget(key);
        }
    }
}

/// How often an offered response may be replaced in that very moment.
const MOST_OFFERS: usize = 3;

/// Offers a response to the disk, and returns what the disk took last; `None` if it took nothing. A response that
/// replaces it in memory meanwhile may have been offered before, and is then offered again: the last one stays.
fn offer(worker: &Worker, disk: &Disk, key: &[u8], stored: &Arc<Stored>) -> Option<Arc<Stored>> {
    let mut taken = None;
    let mut next = stored.clone();
    for _ in 0..MOST_OFFERS {
        if !disk.offer(key, &next) {
            break;
        }
        next.set_below();
        let held = worker.cache.memory.peek(key);
        let later = held.and_then(|held| held.later_than(&next).cloned());
        taken = Some(next);
        match later {
            Some(later) => next = later,
            None => return taken,
        }
    }
    if taken.is_some() {
        disk.forget(key);
    }
    taken
}

/// Whether this very response is in memory.
fn is_held(worker: &Worker, key: &[u8], stored: &Stored) -> bool {
    let held = worker.cache.memory.peek(key);
    held.is_some_and(|held| held.as_slice().iter().any(|held| held.id() == stored.id()))
}
