//! HTTP/2 below both sides (RFC 9113): the content of a message as it comes, and as it goes.

mod incoming;
mod outlet;

pub use incoming::Incoming;
pub use outlet::{Gone, Outlet};
