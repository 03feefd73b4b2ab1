//! What is counted over all lines, whether their URLs are followed or not.

use super::urls::Cost;
use rules::time::Time;
use std::collections::BTreeMap;

/// What was counted over all lines.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Requests that could have been asked for.
    pub requests: u64,
    /// Bytes that clients got.
    pub sent: u64,
    /// What an origin would have done for them without a cache.
    pub origin: Cost,
    /// Lines of answers that a cache made itself; they are left out.
    pub own: u64,
    /// Requests that the server refuses, by reason.
    pub refused: BTreeMap<&'static str, Group>,
    /// Requests that bypass the store, by reason.
    pub bypassed: BTreeMap<&'static str, Group>,
    /// Answers that are not stored, by reason.
    pub unstored: BTreeMap<&'static str, Group>,
    /// Requests that the store is asked for.
    pub asked: u64,
    pub asked_sent: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub out_of_order: u64,
    pub notes: Notes,
}

/// Some requests with something in common.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub requests: u64,
    pub bytes: u64,
    pub micros: u64,
    /// One of them.
    pub example: String,
}

/// What had to be assumed, and how often.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub without_host: u64,
    pub without_length: u64,
    pub without_origin_time: u64,
    pub with_origin_time: u64,
    pub not_modified: u64,
    pub parts: u64,
    pub unfinished: u64,
    /// Whether any answer told of caching.
    pub with_directives: u64,
    /// Reasons that Larder's own log gave.
    pub with_reasons: u64,
    pub with_fractions: bool,
}

impl Group {
    /// One request more; `example` names it.
    pub(super) fn add(&mut self, bytes: u64, micros: u64, example: impl FnOnce() -> String) {
        if self.requests == 0 {
            self.example = example();
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.micros = self.micros.saturating_add(micros);
    }
}
