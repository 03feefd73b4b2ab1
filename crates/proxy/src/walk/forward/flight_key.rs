//! What is fetched together.

use crate::{ask::Ask, cache::Worker, walk::lookup::Need};
use rules::vary;

/// Requests for a part fly apart from those for the whole, unless the whole is on its way already.
pub fn flight_key(worker: &Worker, ask: &Ask, need: &Need) -> Vec<u8> {
    let mut key = page_key(ask, need);
    if let Some(range) = ask.range()
        && !worker.cache.flights.flying(&key, worker.cache.memory.log())
    {
        key.extend_from_slice(b"\nrange:");
        key.extend_from_slice(range.as_bytes());
    }
    key
}

/// What is fetched together: requests for one variant fly apart from those for others, once it is known what chooses variants.
pub fn page_key(ask: &Ask, need: &Need) -> Vec<u8> {
    let mut key = ask.key.as_bytes().to_vec();
    let mut held = need.selected.iter().chain(&need.others);
    if let Some(variant) = held.find_map(|held| held.variant.as_ref()) {
        let mut own = Vec::new();
        vary::variant_key(&variant.nominated, &ask.fields, &mut own);
        key.extend_from_slice(b"\nvariant:");
        key.append(&mut own);
    }
    key
}
