//! The part of HTTP/2 (RFC 9113) that both sides share: receiving and sending the content of a message.

mod incoming;
mod outlet;

pub use incoming::Incoming;
pub use outlet::{Gone, Outlet};
