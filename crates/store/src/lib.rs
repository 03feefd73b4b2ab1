//! Keeps and finds stored responses; never judges freshness.
//!
//! - [`Memory`] is the memory tier: cache key → [`Variants`], weighed in bytes under one hard [`Budget`].
//! - [`Stored`] is one stored response: an immutable head over a [`Body`]; shared, never changed in place.
//! - [`fill`] is a body on its way in: one writer, many readers that follow it while it is written.
//! - [`Invalidations`] is what must not be answered any more although it may still be found.
//!
//! Nothing here reads a clock or knows a directive: the caller judges with `rules`.

mod body;
mod budget;
mod fields;
pub mod fill;
mod invalidations;
mod memory;
#[cfg(test)]
mod sample;
mod slot;
mod stored;

pub use body::{Body, Parts};
pub use budget::{Budget, Reservation};
pub use fields::Fields;
pub use invalidations::{Invalidations, Marks};
pub use memory::{Memory, Refused, Statistics, Ticket};
pub use slot::Variants;
pub use stored::{Stored, Variant};
