//! Below: what the tiers under memory have for a request, and what they are given.
//!
//! What is found there is taken into memory and looked up like anything else, so that one place judges.

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

/// What can be used for less long, fresh and stale together, is not written to disk: it would be written again and again.
const WORTH_WRITING: Duration = Duration::from_secs(30);

/// Waits for the disk, and looks up what it brought.
pub async fn read(worker: &Worker, ask: &Ask, finding: Finding, now: Time) -> Decision {
    lookup::from_disk(worker, ask, now, finding.await)
}

/// Looks up in memory and on disk, waiting where the device must be waited for.
pub async fn find(worker: &Worker, ask: &Ask, now: Time) -> Decision {
    match lookup::find(worker, ask, now) {
        Looked::Decided(found) => found,
        Looked::Wait(finding) => read(worker, ask, finding, now).await,
    }
}

/// What the shared tier comes to.
pub enum SharedLookup {
    /// It had an answer.
    Hit(Hit),
    /// The origin must be asked; with the lease, for all nodes.
    Need(Need, Option<Lease>),
}

/// Asks the shared tier for what memory and disk do not have, or have only to be validated. With `lead`, this node asks for
/// the lease where nothing is there that answers.
pub async fn look_up_shared(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    lead: bool,
) -> SharedLookup {
    match &worker.cache.shared {
        // Boxed: most have no such tier, and what waits for it is large.
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
        // The origin's own word is wanted, by the client or by the origin.
        return SharedLookup::Need(need, None);
    }
    if need.is_beside_fill(ask) {
        // The fill has the lease: the tier has nothing before that has ended.
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
            // What is to be refreshed has been answered with already: the same again refreshes nothing.
            Decision::StaleHit(hit) if !is_newer(&hit.stored, &need) => need,
            Decision::Hit(mut hit) | Decision::StaleHit(mut hit) => {
                hit.outcome.waited = true;
                return SharedLookup::Hit(hit);
            }
            Decision::Forward(need) => need,
            // Conditions that are the origin's to judge: as if nothing had been found.
            Decision::Bypass(_) => return SharedLookup::Need(need, None),
        };
        if renewed || !lead {
            return SharedLookup::Need(need, None);
        }
        renewed = true;
        found = tier.renew(&mut question, newest.unwrap_or_default()).await;
    }
}

/// Whether `found` was received after what is selected already, if anything is.
fn is_newer(found: &Stored, need: &Need) -> bool {
    let selected = need.selected.as_ref();
    selected.is_none_or(|old| old.facts.response_time < found.facts.response_time)
}

/// A response is complete: the tiers below get it.
pub fn keep(worker: &Worker, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
    if let Some(shared) = &worker.cache.shared
        && !matches!(stored.body, Body::Parts(_))
    {
        shared.keep(key, stored, lease);
    }
    keep_on_disk(worker, key, stored);
}

/// As [`keep`], of `new`, which the origin's 304 has made of `old`. Where each use brings one of these, what is below is left as
/// it is: nobody uses it without asking the origin either.
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

/// Whether it can be used for long enough to be worth writing to disk.
fn lasts(stored: &Stored) -> bool {
    stored.facts.useful() >= WORTH_WRITING
}

/// Notes of what was fetched lately: that what the disk has of the [variant](place_of) does not [last](lasts), or that it may.
const SHORT: u8 = 1;
pub(super) const MAY_LAST: u8 = 0;

/// Where the note of a response stands: its key and variant, since the disk has one of each.
fn place_of(key: &[u8], stored: &Stored) -> Vec<u8> {
    let variant = stored.variant.as_ref().map(|variant| variant.digest());
    [key, &variant.unwrap_or_default().to_be_bytes()].concat()
}

/// The disk gets it where it has an older one of its key, or where memory has lost it since it was last fetched. What does not last
/// takes the place of one that may, which would answer again after a restart; not of another that does not last either.
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
        // Better nothing than an older one, here and in memory: the log knows no time between the two. Other nodes have disks of their
        // own.
        disk.forget(key);
        worker
            .cache
            .purger
            .invalidate_here(all_of(key), clock::now());
    }
}

/// The disk is told of so many uses together.
const TOLD: u64 = 256;

/// Counts a use. What is asked for again is worth writing to disk, and to be kept there. On the path of a hit.
pub fn used(worker: &Worker, ask: &Ask, stored: &Arc<Stored>, outcome: &Outcome) {
    let uses = stored.used() + 1;
    let is_new = matches!(outcome.handled, Handled::Forwarded { stored: true, .. });
    // At the first hit, which is the second request; seldom again where it was not taken.
    let is_told = uses.is_power_of_two() || uses.is_multiple_of(TOLD);
    if !is_told || (uses == 1 && is_new) {
        return;
    }
    keep_asked_for(worker, ask.key.as_bytes(), stored);
}

/// The disk gets what is asked for again, unless it has that still. What is still on its way is not taken: it is offered once it is
/// complete.
///
/// What memory does not hold was made for one client, or has been replaced: it is nobody else's.
pub fn keep_asked_for(worker: &Worker, key: &[u8], stored: &Arc<Stored>) {
    if let Some(disk) = &worker.cache.disk
        && !(stored.is_below() && disk.uses(key))
        && lasts(stored)
        && is_held(worker, key, stored)
        && let Some(last) = offer(worker, disk, key, stored)
    {
        worker.cache.fetched.forget(&place_of(key, stored));
        if !is_held(worker, key, &last) {
            // Given up meanwhile, perhaps before the disk knew of it.
            disk.forget(key);
        }
    }
}

/// How often what is offered may be overtaken in that very moment.
const MOST_OFFERS: usize = 3;

/// Offers it to the disk, and says what that took last; `None` where it took nothing. What takes its place in memory meanwhile may have
/// been offered before, and is then offered again: what comes last stays.
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

/// What is stored is out of date: it goes from memory, and the tiers below will not bring it back.
pub fn withdraw(worker: &Worker, key: &[u8], stored: &Stored) {
    withdraw_all(worker, key, [stored]);
}

/// As [`withdraw`], of several responses of `key`. Where a tier below may have any of them, all that was received under `key` until now
/// goes, also after a restart.
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

/// What is stored is out of date, and something newer is about to stand beside it, which [`withdraw`] would take along: it goes from
/// memory, the disk forgets it too, and has in its place, after a restart as well, that it was given up.
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

/// The purge of all that is stored under `key`.
fn all_of(key: &[u8]) -> Purge {
    let url = Address::of(key).text();
    Purge::hard(What::Url(vec![url]))
}
