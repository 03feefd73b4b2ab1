//! Below: what the tiers under memory have for a request, and what they are given.
//!
//! What is found there is taken into memory and looked up like anything else, so that all of it is judged in one place.

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    outcome::Outcome,
    walk::lookup::{self, Decision, Hit, Looked, Need},
};
use rules::{status::Handled, time::Time};
use std::{rc::Rc, sync::Arc, time::Duration};
use store::{
    Body, Stored,
    disk::{Disk, Finding},
    purge::{Address, Purge, What},
    shared::{self, Lease},
};

/// A response that can be used for less time than this, fresh and stale together, is not written to disk: it would be
/// written again and again.
const WORTH_WRITING: Duration = Duration::from_secs(30);

/// Waits for the disk, and looks up what it has brought.
pub async fn read(worker: &Worker, ask: &Ask, finding: Finding, now: Time) -> Decision {
    lookup::from_disk(worker, ask, now, finding.await)
}

/// Looks up in memory and on disk, and waits for the device if necessary.
pub async fn find(worker: &Worker, ask: &Ask, now: Time) -> Decision {
    match lookup::find(worker, ask, now) {
        Looked::Decided(found) => found,
        Looked::Wait(finding) => read(worker, ask, finding, now).await,
    }
}

/// The result of a lookup in the shared tier.
pub enum SharedLookup {
    /// It had an answer.
    Hit(Hit),
    /// The origin must be asked. With the lease, for all nodes.
    Need(Need, Option<Lease>),
}

/// Asks the shared tier for a response that memory and disk do not have, or have but must validate. With `lead`, this
/// node asks for the lease if nothing there answers.
pub async fn look_up_shared(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    lead: bool,
) -> SharedLookup {
    match &worker.cache.shared {
        // Boxed because most sites have no such tier, and the future that waits for it is large.
        Some(tier) => Box::pin(in_tier(worker, ask, tier, need, lead)).await,
        None => SharedLookup::Need(need, None),
    }
}

async fn in_tier(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    tier: &shared::SharedTier,
    need: Need,
    lead: bool,
) -> SharedLookup {
    let is_unsure = need.is_unsure();
    let selected = need.selected.as_deref().filter(|_| !is_unsure);
    if need.is_for_the_origin() || selected.is_some_and(|stored| stored.facts.is_always_validated())
    {
        // The origin's own answer is wanted, by the client or by the origin.
        return SharedLookup::Need(need, None);
    }
    if need.is_beside_fill(ask) {
        // The fill has the lease: the tier has nothing until the fill has ended.
        return SharedLookup::Need(need, None);
    }
    let mut question = tier.question(ask.key.as_bytes(), &ask.fields);
    let mut need = need;
    let mut found = tier.find(&mut question, lead).await;
    let mut renewed = false;
    loop {
        let here = match found {
            shared::SharedTierLookup::Nothing => return SharedLookup::Need(need, None),
            shared::SharedTierLookup::Lead(lease) => return SharedLookup::Need(need, Some(lease)),
            shared::SharedTierLookup::Here(here) => here,
        };
        let newest = here.iter().map(|stored| stored.facts.response_time).max();
        need = match lookup::adopted(worker, ask, clock::now(), here) {
            // The stale response has already been sent: to find the same one again refreshes nothing.
            Decision::StaleHit(hit) if !is_newer(&hit.stored, &need) => need,
            Decision::Hit(mut hit) | Decision::StaleHit(mut hit) => {
                hit.outcome.waited = true;
                return SharedLookup::Hit(hit);
            }
            Decision::Forward(need) => need,
            // The origin is to judge these conditions: as if nothing had been found.
            Decision::Bypass(_) => return SharedLookup::Need(need, None),
        };
        if renewed || !lead {
            return SharedLookup::Need(need, None);
        }
        renewed = true;
        found = tier.renew(&mut question, newest.unwrap_or_default()).await;
    }
}

/// Whether `found` was received after the selected response, if there is one.
fn is_newer(found: &Stored, need: &Need) -> bool {
    let selected = need.selected.as_ref();
    selected.is_none_or(|old| old.facts.response_time < found.facts.response_time)
}

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

/// Whether a response can be used for long enough to be worth writing to disk.
fn lasts(stored: &Stored) -> bool {
    stored.facts.useful() >= WORTH_WRITING
}

/// Notes about what was fetched lately: that the disk's response of this [variant](place_of) does not [last](lasts), or
/// that it may.
const SHORT: u8 = 1;
pub(super) const MAY_LAST: u8 = 0;

/// The key of the note about a response: its key and variant, since the disk has one response for each.
fn place_of(key: &[u8], stored: &Stored) -> Vec<u8> {
    let variant = stored.variant.as_ref().map(|variant| variant.digest());
    [key, &variant.unwrap_or_default().to_be_bytes()].concat()
}

/// Offers a response to the disk if it has an older one of its key, or if memory has lost the response since it was
/// last fetched. A response that does not last replaces one that may, which would otherwise answer again after a
/// restart. It does not replace another that does not last either.
fn keep_on_disk(worker: &Worker, key: &[u8], stored: &Arc<Stored>) {
    let Some(disk) = &worker.cache.disk else {
        return;
    };
    let (fetched, now) = (&worker.cache.fetched, clock::now());
    let again = fetched.knows(key, now);
    fetched.remember(key, MAY_LAST, now);
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

/// Removes an out-of-date response from memory. The tiers below will not bring it back.
pub fn withdraw(worker: &Worker, key: &[u8], stored: &Stored) {
    withdraw_all(worker, key, [stored]);
}

/// Like [`withdraw`], for several responses of `key`. If a tier below may have any of them, all that was received under
/// `key` until now goes, also after a restart.
pub fn withdraw_all<'a>(worker: &Worker, key: &[u8], all: impl IntoIterator<Item = &'a Stored>) {
    let (mut is_any, mut is_below) = (false, worker.cache.shared.is_some());
    for stored in all {
        worker.cache.memory.give_up(key, stored);
        is_any = true;
        is_below |= stored.is_below();
    }
    let disk = worker.cache.disk.as_ref();
    if is_any && (is_below || disk.is_some_and(|disk| disk.knows(key))) {
        worker.cache.purger.invalidate(all_of(key), clock::now());
    }
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
fn all_of(key: &[u8]) -> Purge {
    let url = Address::of(key).text();
    Purge::hard(What::Url(vec![url]))
}
