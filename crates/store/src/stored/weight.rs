//! What a stored response takes of memory.

use super::Stored;
use crate::{Fields, body::allocated};
use http::HeaderName;

impl Stored {
    /// Bytes of memory it takes, as the allocator rounds them.
    pub(crate) fn weight(&self) -> u64 {
        let variant = self.variant.as_ref().map_or(0, |variant| {
            allocated(variant.key.len())
                + allocated(variant.nominated.len() * size_of::<HeaderName>())
                + 48
        });
        let unsent = self.unsent.as_ref().map_or(0, |unsent| {
            allocated(size_of::<Fields>()) + allocated(unsent.len())
        });
        head_weight(self.fields.len())
            + unsent
            + self.body.weight()
            + self.forms.weight()
            + variant
            + self.marks.as_ref().map_or(0, |marks| marks.weight())
            + self.derived.as_ref().map_or(0, |derived| derived.weight())
    }
}

/// Bytes of memory a head with so many bytes of fields takes.
fn head_weight(fields: usize) -> u64 {
    /// The shared header of each `Bytes`, once it has been cloned.
    const SHARED: u64 = 32;
    allocated(size_of::<Stored>() + 16) + allocated(fields) + 2 * SHARED
}

/// What a stored response of this size weighs, without variant or tags.
pub(crate) fn weight_of(fields: usize, body: usize) -> u64 {
    head_weight(fields) + allocated(body)
}
