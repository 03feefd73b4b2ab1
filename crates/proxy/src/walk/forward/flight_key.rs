//! The keys of flights: which requests share a fetch.

use crate::{ask::Ask, cache::Worker, collapse::Seat, walk::lookup::Need};
use http::HeaderMap;
use rules::vary;
use std::{borrow::Cow, sync::Arc};
use store::{Stored, fill::Fill};

/// Takes a seat on the flight that fetches what `ask` needs; if it leads, into `fill`. Requests for a part and requests
/// for the whole take different flights, unless the whole is already on its way.
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

/// Returns the key under which requests share a fetch, and under which answers are remembered as of no use to others.
/// Once it is known what selects variants, requests for different variants have different keys.
pub fn collapse_key<'a>(ask: &'a Ask, need: &Need) -> Cow<'a, [u8]> {
    let held = need.selected.iter().chain(&need.others);
    collapse_key_of(ask.key.as_bytes(), &ask.fields, held)
}

/// Like [`collapse_key`], for a request with `fields` for `key`, of which `held` is stored.
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
