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

/// What the disk is given of a response that was fetched.
enum Given {
    /// The response: it lasts, and the disk has an older one, or it was fetched again.
    Response,
    /// That older versions of it were given up: it does not last, and they would answer again once memory has lost it.
    /// This is written once, however often the response is fetched.
    OlderGivenUp,
    /// Nothing.
    Nothing,
}

/// Offers a response to the disk if it has an older one of its key, or if memory has lost the response since it was
/// last fetched. A response that does not last only takes the place of older ones. So does one that a later fetch has
/// outdone, because what outdid it may be in memory alone.
pub(super) fn keep_on_disk(worker: &Worker, key: &[u8], stored: &Arc<Stored>) {
    let Some(disk) = &worker.cache.disk else {
        return;
    };
    let again = is_fetched_again(&worker.cache, key) && !is_outdone(worker, key, stored);
    let knows = disk.knows(key);
    let given = match lasts(stored) {
        true if stored.body.is_on_disk() || knows || again => Given::Response,
        false if knows && !disk.has_given_up(key, stored) => Given::OlderGivenUp,
        true | false => Given::Nothing,
    };
    let is_taken = match given {
        Given::Response => offer(worker, disk, key, stored).is_some(),
        Given::OlderGivenUp => {
            let given_up = stored.given_up(worker.cache.memory.log().head());
            disk.offer(key, &Arc::new(given_up))
        }
        Given::Nothing => return,
    };
    if !is_taken && knows && !disk.withhold(key) {
        // Nothing is better than an older response, here and in memory: the log knows no time between the two. Other
        // nodes have disks of their own.
        disk.forget(key);
        worker
            .cache
            .purger
            .invalidate_here(all_of(key), clock::now());
    }
}

/// Whether what a later fetch has brought answers in its place.
fn is_outdone(worker: &Worker, key: &[u8], stored: &Stored) -> bool {
    let held = worker.cache.memory.peek(key);
    held.is_some_and(|held| held.supersedes(stored))
}

/// Of what was fetched lately, nothing more is noted.
const NO_NOTE: u8 = 0;

/// Notes that something is fetched for `key`. Returns whether that happened lately.
pub fn is_fetched_again(cache: &Cache, key: &[u8]) -> bool {
    let (fetched, now) = (&cache.fetched, clock::now());
    let again = fetched.knows(key, now);
    fetched.remember(key, NO_NOTE, now);
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
        && !is_held(worker, key, &last)
    {
        // It was given up meanwhile, perhaps before the disk knew of it.
        disk.forget(key);
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
