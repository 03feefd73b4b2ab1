//! Compression on a route.

use rules::coding::{Coding, TypePattern};

/// What is coded here, and how. A route without it leaves every body as its origin sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compress {
    /// The codings that are made, the preferred one first. Never empty.
    pub codings: Vec<Coding>,
    /// Media types worth coding. `text/event-stream` never is.
    pub types: Vec<TypePattern>,
    /// Smaller bodies, in bytes, are not coded.
    pub least: u64,
    /// Whether to code also answers that are not stored and were made for one user: the request had a cookie or
    /// credentials, or the answer sets a cookie. The length could tell an attacker what is in them (BREACH).
    pub personal: bool,
}
