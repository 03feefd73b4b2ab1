//! The keys of flights: which requests share a fetch.

use http::HeaderMap;
use rules::vary;
use std::{borrow::Cow, sync::Arc};
use store::Stored;

/// Returns the key under which a request with `fields` for `key`, of which `held` is stored, shares a fetch: the same for
/// all requests until it is known what selects variants, and one for each variant from then on.
pub fn key_of<'a, 'b>(
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
