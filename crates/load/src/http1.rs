//! HTTP/1.1: one request at a time on a connection, never pipelined.
//!
//! This is a separate loop over `httparse`: the tool shares its machine with what it measures, so whatever it uses is
//! missing there. It examines no more than it reports, and keeps no body.

mod chunked;
mod connection;
mod reader;

#[cfg(test)]
mod tests;

pub(crate) use connection::Connection;
pub use reader::{Answer, Broken, Reader, Step};
