//! The listener through the door clients use: raw bytes in, raw bytes out.
#![allow(missing_docs, unreachable_pub, reason = "tests")]

mod bad_input;
mod drain;
mod http2;
mod interim;
mod limits;
mod serving;
mod site;
mod sockets;
mod tls;
