//! How much memory a stored response takes.

use super::{Stored, place::is_beside};
use crate::{
    Body, Fields, arena,
    body::{SHARED, allocated},
};
use http::{HeaderName, header};

/// The counters of an `Arc`.
const COUNTERS: usize = 16;

impl Stored {
    /// The bytes of memory that it takes, as the allocator rounds them.
    pub(crate) fn weight(&self) -> u64 {
        let variant = self.variant.as_ref().map_or(0, |variant| {
            allocated(variant.key.len())
                + allocated(variant.nominated.len() * size_of::<HeaderName>())
                + variant.nominated.iter().map(spelled).sum::<u64>()
                + 48
        });
        let unsent = self.unsent.as_ref().map_or(0, |unsent| {
            allocated(size_of::<Fields>()) + allocated(unsent.len()) + SHARED
        });
        let content = match &self.body {
            Body::Whole(bytes) => whole(self.fields.len(), bytes.len()),
            elsewhere => head(self.fields.len()) + elsewhere.weight(),
        };
        allocated(size_of::<Self>() + COUNTERS)
            + content
            + unsent
            + self.forms.weight()
            + variant
            + self.marks.as_ref().map_or(0, |marks| marks.weight())
            + self.derived.as_ref().map_or(0, |derived| derived.weight())
    }
}

/// The weight of a name's own bytes. The library has the usual ones itself.
fn spelled(name: &HeaderName) -> u64 {
    match *name {
        header::ACCEPT
        | header::ACCEPT_ENCODING
        | header::ACCEPT_LANGUAGE
        | header::AUTHORIZATION
        | header::COOKIE
        | header::ORIGIN
        | header::USER_AGENT => 0,
        _ => allocated(name.as_str().len()) + SHARED,
    }
}

/// The weight of fields in an allocation of their own.
fn head(fields: usize) -> u64 {
    allocated(fields) + SHARED
}

/// The weight of fields and a body in one piece, wherever they [are](super::place).
fn whole(fields: usize, body: usize) -> u64 {
    if is_beside(fields, body) {
        head(fields + body)
    } else {
        head(fields) + allocated(body) + SHARED
    }
}

/// The weight of a stored response of this size, without variant or tags.
pub(crate) fn weight_of(fields: usize, body: usize) -> u64 {
    let content = if arena::takes(body) {
        head(fields) + arena::weight(body)
    } else {
        whole(fields, body)
    };
    allocated(size_of::<Stored>() + COUNTERS) + content
}
