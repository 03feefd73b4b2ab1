//! HTTP/1.1: one request at a time on a connection, never pipelined.
//!
//! An own loop over `httparse`: the tool shares its machine with what it measures, so what it costs itself is missing there.
//! It looks at no more than it reports, and holds no body.

mod chunked;
mod connection;
mod reader;

#[cfg(test)]
mod tests;

pub(crate) use connection::Connection;
pub use reader::{Answer, Broken, Reader, Step};
