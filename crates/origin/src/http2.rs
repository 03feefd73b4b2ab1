//! The part of HTTP/2 (RFC 9113) that both sides share: receiving and sending the content of a message.

mod frames;
mod gathering;
mod incoming;
mod inlet;
mod outlet;

pub use frames::Frames;
pub use gathering::{Gathering, SMALL_FRAMES};
pub use incoming::Incoming;
pub use inlet::Inlet;
pub use outlet::{Gone, Outlet};
