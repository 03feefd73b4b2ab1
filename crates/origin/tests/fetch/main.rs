//! The room through its door: `Origin::fetch` against scripted servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod basics;
mod early;
mod fastcgi;
mod framing;
mod health;
mod http2;
mod http2_streams;
mod http2_unbegun;
mod idle;
mod left_out;
mod limits;
mod peers;
mod pools;
mod pools_http2;
mod retries;
mod sent;
mod support;
mod tls;
