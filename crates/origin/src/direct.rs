//! Our own HTTP/1.1 exchange, for requests that have no content and ask for no upgrade.
//!
//! There is no task beside it: waiting for the head or reading the body moves it on, and dropping either closes the
//! connection. One exchange passes `request` (what is written) → [`exchange`] with [`head`] (the answer's head, in
//! time) → `framing` (where its content ends; RFC 9112 section 6) with [`chunked`] → `body`. Heads are read by the
//! parser that hyper uses, and judged by `message` like hyper's. What is not clearly well formed is an error. A
//! connection is used again only after an answer that ended where it said, with nothing after it.

mod body;
pub mod chunked;
mod desk;
mod exchange;
mod framing;
pub mod head;
mod link;
mod request;

pub(crate) use body::Body;
pub use body::LITTLE;
pub(crate) use exchange::{Arrived, Asking, Lost, ask};
pub(crate) use framing::is_bare;
pub(crate) use link::Link;

#[cfg(test)]
mod tests;
