//! Refresh: fetches a fresh answer after a stale one has been sent (RFC 5861 section 3).

use crate::{
    ask::Ask,
    cache::Worker,
    collapse::{Errand, FlightStatus, Seat},
    outcome::bump,
    user_group::HASH,
    walk::{
        admit::may_be_of_one_user,
        forward::{self, Leader, Meanwhile},
        lookup::Need,
        pump::begin_fill,
    },
};
use rules::status::ForwardReason;
use std::{rc::Rc, sync::Arc};
use store::Stored;

/// Fetches in the background, unless another task already does or has just found the origin failing. Otherwise an
/// origin that is down or busy would be asked with each hit. Nor does it for a client whose answer would not be right
/// for its group ([`is_unlike_its_group`]), or whose cookies keep it from being stored.
pub fn spawn(worker: &Rc<Worker>, ask: &Rc<Ask>, stored: &Arc<Stored>) {
    if is_unlike_its_group(ask) || may_be_of_one_user(ask, &stored.facts) {
        return;
    }
    let need = Need::of(ForwardReason::Stale, None, stored.clone(), Vec::new());
    let (flights, errand) = (&worker.cache.flights, Errand::of(worker, ask, &need));
    let key = need.collapse_key(ask);
    if worker.cache.failed.knows(&key, ask.now) || flights.flying(&key, &errand) {
        return;
    }
    let (fill, writer) = begin_fill(worker);
    // No client waits for this fetch; it goes on all the same.
    fill.interest().keep();
    let Seat::Lead(flight) = flights.join(&key, &errand, fill) else {
        return;
    };
    if !matches!(forward::meanwhile(worker, ask, &need), Meanwhile::Nothing) {
        flight.land(FlightStatus::FoundHere);
        return;
    }
    bump(&worker.counters.refreshes);
    // Content that is part of the key belongs to the client, and stays with its request.
    let ask = if ask.said.directives && ask.content.keyed.is_none() {
        Rc::new(ask.for_store(stored.variant.as_deref()))
    } else {
        ask.clone()
    };
    let leader = Leader {
        worker: worker.clone(),
        ask,
        need,
        writer,
        flight,
        to: None,
    };
    // Boxed because the runtime moves the future several times.
    tokio::task::spawn_local(Box::pin(leader.fly()));
}

/// Whether the application would make the page for a group without the cookies that show that the client belongs to it:
/// they are set aside if the client must not fill the store. The next client of the group refreshes.
fn is_unlike_its_group(ask: &Ask) -> bool {
    ask.stores_nothing && ask.fields.contains_key(&HASH)
}
