//! An HTTP/1.1 exchange of our own, for requests that bring no content and want no upgrade.
//!
//! Nothing runs beside it: whoever waits for the head or reads the body moves it on, and dropping either closes the connection.
//! One exchange goes `request` (what is written) → [`exchange`] with [`head`] (the answer's beginning, in time) →
//! `framing` (where its content ends; RFC 9112 section 6) with [`chunked`] → `body`. Heads are read by the parser that hyper uses
//! and judged by `message` as hyper's are. What is not clearly well formed is an error, and a connection is used again only
//! after an answer that ended where it said, with nothing behind it.

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
