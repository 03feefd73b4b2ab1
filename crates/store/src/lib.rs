//! Keeps and finds stored responses.
//!
//! - [`Memory`] is the memory tier: cache key → [`Variants`], weighed in bytes under one hard limit, which it
//!   shares with what is in flight (a [`Budget`]).
//! - [`Stored`] is one stored response: an immutable head over a [`Body`]; shared, never changed in place.
//! - [`fill`] is a body on its way in: one writer, and many readers that follow it while it is written.
//! - [`purge`] decides what must not be answered any more although it may still be found.
//!
//! Nothing here knows a directive or judges whether a response may be sent: the caller does, with `rules`, and brings
//! the time for it. Freshness is used here only to rank several variants that match; `rules` judges it.
//!
//! The wall clock (`clock`) is read only for what leaves this process or outlives it: what the shared tier keeps and
//! leases (`shared::keeping`, `shared::lease`), the stream of purges (`shared::stream`), and the disk tier's own purges
//! (`disk::keeper`); and to notice that it was set back (`sweep`). Time limits, rests and rates are measured with
//! monotonic clocks.

pub mod arena;
mod body;
mod budget;
mod clock;
pub mod codec;
pub mod disk;
mod fields;
pub mod fill;
mod forms;
pub mod lock;
mod memory;
pub mod model;
pub mod purge;
mod purger;
#[cfg(test)]
mod sample;
pub mod shared;
mod stored;
mod sweep;
mod variants;

pub use body::{Body, BodyPiece, Part, Parts, Pieces};
pub use budget::{Budget, Reservation};
pub use fields::Fields;
pub use forms::{Coded, Form, Forms, Level};
pub use memory::{Memory, Purged, Refused, Statistics, Swept, Ticket};
pub use purger::{
    Asker, Boxed, Durable, NotDurable, PurgeAnswer, PurgeError, Purger, SharedLog, Unreachable,
};
pub use stored::{Derived, Stored, Variant, X_CACHE_DEBUG};
pub use sweep::{Busiest, Busy, Horizon, HorizonBelow, Remember, Sweeper};
pub use variants::Variants;
