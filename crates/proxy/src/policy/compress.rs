//! Compression on a route.

use rules::coding::{Coding, TypePattern};

/// What is coded here, and how. A route without one leaves every body as its origin sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compress {
    /// The codings that are made, the one we like best first. Never empty.
    pub codings: Vec<Coding>,
    /// Media types worth coding. `text/event-stream` never is.
    pub types: Vec<TypePattern>,
    /// Smaller bodies, in bytes, are left alone.
    pub least: u64,
    /// Whether answers are coded too that are not stored and were made for one user: the request came with a cookie or with
    /// credentials, or the answer sets a cookie. Their length could tell an attacker of what is in them (BREACH).
    pub personal: bool,
}
