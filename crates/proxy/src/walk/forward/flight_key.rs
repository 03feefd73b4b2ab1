//! What is fetched together.

use crate::{ask::Ask, cache::Worker, collapse::Seat, walk::lookup::Need};
use http::HeaderMap;
use rules::vary;
use std::{borrow::Cow, sync::Arc};
use store::{Stored, fill::Fill};

/// A seat on the flight that fetches what `ask` needs, into `fill` where it leads. Requests for a part fly apart from those for the whole,
/// unless the whole is on its way already.
pub fn take_seat(worker: &Worker, ask: &Ask, need: &Need, fill: Arc<Fill>) -> Seat {
    let (flights, log) = (&worker.cache.flights, worker.cache.memory.log());
    let mut key = collapse_key(ask, need);
    if let Some(range) = ask.range() {
        if let Some(follower) = flights.follow(&key, log) {
            return Seat::Follow(follower);
        }
        key = [&key, &b"\nrange:"[..], range.as_bytes()].concat().into();
    }
    flights.join(&key, log, fill)
}

/// What is fetched together, and remembered as of no use to others: requests for one variant apart from those for others, once it is
/// known what chooses variants.
pub fn collapse_key<'a>(ask: &'a Ask, need: &Need) -> Cow<'a, [u8]> {
    let held = need.selected.iter().chain(&need.others);
    collapse_key_of(ask.key.as_bytes(), &ask.fields, held)
}

/// As [`collapse_key`], of a request with `fields` for `key`, of which `held` is stored.
pub fn collapse_key_of<'a, 'b>(
    key: &'a [u8],
    fields: &HeaderMap,
    mut held: impl Iterator<Item = &'b Arc<Stored>>,
) -> Cow<'a, [u8]> {
    let Some(variant) = held.find_map(|held| held.variant.as_ref()) else {
        return key.into();
    };
    let mut own = Vec::new();
    vary::variant_key(&variant.nominated, fields, &mut own);
    [key, b"\nvariant:", &own].concat().into()
}
