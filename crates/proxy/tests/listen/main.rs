//! The listener through the door clients use: raw bytes in, raw bytes out.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests"
)]
#![allow(clippy::panic, reason = "the scripted service panics when asked to")]

mod bad_input;
mod drain;
mod frames;
mod http2;
mod http2_interim;
mod interim;
mod limits;
mod serving;
mod site;
mod sockets;
mod tls;
mod turns;
mod waiting;
