//! Below: what the tiers under memory have for a request.
//!
//! What is found there is taken into memory and looked up like anything else, so that all of it is judged in one place.

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    collapse::{Errand, Flight},
    walk::lookup::{self, Decision, Hit, Looked, Need},
};
use rules::time::Time;
use std::{rc::Rc, sync::Arc};
use store::{
    Stored,
    shared::{self, IfNothing, Lease},
};

/// Waits for the disk, and looks up what it has brought.
pub async fn read(
    worker: &Worker,
    ask: &Ask,
    finding: impl Future<Output = Vec<Arc<Stored>>>,
) -> Decision {
    let brought = finding.await;
    let mut found = lookup::from_disk(worker, ask, clock::now(), brought);
    found.note_wait();
    found
}

/// Looks up in memory and on disk, and waits for the device if necessary.
pub async fn find(worker: &Worker, ask: &Ask) -> Decision {
    match lookup::find(worker, ask, clock::now()) {
        Looked::Decided(found) => found,
        Looked::Wait(finding) => read(worker, ask, finding).await,
    }
}

/// The result of a lookup in the shared tier.
pub enum SharedLookup {
    /// It had an answer.
    Hit(Hit),
    /// The origin must be asked. With the lease, for all nodes.
    Need(Need, Option<Lease>),
}

/// For whom the shared tier is asked.
#[derive(Debug)]
pub enum Role<'a> {
    /// For a request that goes alone.
    Single,
    /// For a request that gets an error if nothing is found: it does not go on to the origin, or the origin has failed.
    Last,
    /// For a leader: if nothing there answers, this node asks for the lease to fetch for all. Once it is known what
    /// selects variants, the flight is for one of them.
    Leader(&'a mut Flight),
    /// The same for a refresh: no client waits for it.
    Refresh(&'a mut Flight),
}

impl Role<'_> {
    /// The flight that the request leads, if it leads one.
    pub fn flight(&mut self) -> Option<&mut Flight> {
        match self {
            Self::Single | Self::Last => None,
            Self::Leader(flight) | Self::Refresh(flight) => Some(flight),
        }
    }
}

/// Asks the shared tier for a response that memory and disk do not have, or have but must validate.
pub async fn look_up_shared(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    role: &mut Role<'_>,
) -> SharedLookup {
    match &worker.cache.shared {
        // Boxed because most sites have no such tier, and the future that waits for it is large.
        Some(tier) => Box::pin(in_tier(worker, ask, tier, need, role)).await,
        None => SharedLookup::Need(need, None),
    }
}

async fn in_tier(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    tier: &shared::SharedTier,
    need: Need,
    role: &mut Role<'_>,
) -> SharedLookup {
    if !wants_tier(&need, role, ask) {
        return SharedLookup::Need(need, None);
    }
    let mut question = tier.question(ask.key.as_bytes(), &ask.fields);
    // Nothing that another node fetches already is good enough for a client that wants the origin's own answer. Nor do
    // nodes share parts.
    let is_leader = role.flight().is_some() && !lookup::is_forced(ask);
    let leads = |need: &Need| is_leader && !need.brings_part(ask);
    let mut need = need;
    if matches!(role, Role::Refresh(_)) {
        question.for_refresh();
    }
    let overruled = |role: &mut Role<'_>| role.flight().is_some_and(|it| it.has_left_overruled());
    question.leave_own(overruled(role));
    question.collapse(&need.collapse_key(ask));
    let if_nothing = if leads(&need) {
        IfNothing::TakeLease
    } else {
        IfNothing::Leave
    };
    let mut found = tier.find(&mut question, if_nothing).await;
    let mut renewed = false;
    loop {
        let here = match found {
            shared::SharedTierLookup::Nothing => return SharedLookup::Need(need, None),
            shared::SharedTierLookup::Lead(lease) => return SharedLookup::Need(need, Some(lease)),
            shared::SharedTierLookup::Here(here) => here,
        };
        let (newest, before) = (newest_for(ask, &here), need.collapse_key(ask));
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
        if let Some(flight) = role.flight() {
            let errand = Errand::of(worker, ask, &need);
            flight.narrow(&before, &need.collapse_key(ask), &errand);
        }
        if renewed || !leads(&need) {
            return SharedLookup::Need(need, None);
        }
        renewed = true;
        question.leave_own(overruled(role));
        question.collapse(&need.collapse_key(ask));
        found = tier.renew(&mut question, newest).await;
    }
}

/// Whether the shared tier may have what `ask`, which has this need, wants.
fn wants_tier(need: &Need, role: &Role<'_>, ask: &Ask) -> bool {
    let is_last = matches!(role, Role::Last);
    // Where each answer is to be validated, the one stored elsewhere most likely is as well.
    let is_vain = |stored: &Stored| stored.facts.is_always_validated() && !is_last;
    let selected = need.selected.as_deref().filter(|_| !need.is_unsure());
    // If there is a fill, it has the lease: the tier has nothing until the fill has ended.
    !need.is_for_the_origin() && !selected.is_some_and(is_vain) && !need.is_beside_fill(ask)
}

/// When the newest of what is `here` for the request was received.
fn newest_for(ask: &Ask, here: &[Arc<Stored>]) -> Time {
    let mut scratch = Vec::new();
    let own = here
        .iter()
        .filter(|stored| stored.matches(&ask.fields, &mut scratch));
    let newest = own.map(|stored| stored.facts.response_time).max();
    newest.unwrap_or_default()
}

/// Whether `found` was received after the selected response, if there is one.
fn is_newer(found: &Stored, need: &Need) -> bool {
    let selected = need.selected.as_ref();
    selected.is_none_or(|old| old.facts.response_time < found.facts.response_time)
}

#[cfg(test)]
mod tests;
