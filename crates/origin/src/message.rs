//! What is changed in a request before it goes out, and what a response must satisfy before it is believed.
//!
//! hyper reads responses leniently in some places where a cache must not: it prefers `Transfer-Encoding` to a
//! `Content-Length` beside it, takes a repeated `Content-Length`, reads any unknown transfer coding until the
//! connection closes, and leaves codings before `chunked` in place. `h2` leaves white space around values. What they
//! let through is judged here.

mod framing;
mod response;
mod target;
mod upgrade;

pub(crate) use framing::{RequestFraming, expects_continue, frame, may_be_left_unread};
pub(crate) use response::{Afterwards, Announced, came_too_late, check_values, judge};
pub(crate) use target::address;
pub(crate) use upgrade::{Upgrade, ignore_upgrade};

#[cfg(test)]
mod tests;
