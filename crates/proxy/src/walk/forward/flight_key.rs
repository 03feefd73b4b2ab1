//! What is fetched together.

use crate::{ask::Ask, cache::Worker, walk::lookup::Need};
use http::HeaderMap;
use rules::vary;
use std::{borrow::Cow, sync::Arc};
use store::Stored;

/// Requests for a part fly apart from those for the whole, unless the whole is on its way already.
pub fn flight_key(worker: &Worker, ask: &Ask, need: &Need) -> Vec<u8> {
    let mut key = collapse_key(ask, need).into_owned();
    if let Some(range) = ask.range()
        && !worker.cache.flights.flying(&key, worker.cache.memory.log())
    {
        key.extend_from_slice(b"\nrange:");
        key.extend_from_slice(range.as_bytes());
    }
    key
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
