//! Which flight a request takes.

use crate::{
    ask::Ask,
    cache::Worker,
    collapse::{Errand, Seat},
    walk::lookup::Need,
};
use std::sync::Arc;
use store::fill::Fill;

/// Takes a seat on the flight that fetches what `ask` needs; if it leads, into `fill`. Requests for a part and requests
/// for the whole take different flights, unless the whole is already on its way.
pub fn take_seat(worker: &Worker, ask: &Ask, need: &Need, fill: Arc<Fill>) -> Seat {
    let (flights, errand) = (&worker.cache.flights, Errand::of(worker, ask, need));
    let mut key = need.collapse_key(ask);
    if let Some(range) = ask.range() {
        if let Some(follower) = flights.follow(&key, &errand) {
            return Seat::Follow(follower);
        }
        key = [&key, &b"\nrange:"[..], range.as_bytes()].concat().into();
    }
    flights.join(&key, &errand, fill)
}
