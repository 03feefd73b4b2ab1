//! What was counted for a target: bytes, answers, connections.

use super::number::percent;
use crate::{cached::Cached, fault::Fault, tally::Tally};
use serde::Serialize;
use std::collections::BTreeMap;

/// Bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bytes {
    /// Received from the wire.
    pub received: u64,
    /// Sent to the wire.
    pub sent: u64,
    /// Content only.
    pub content: u64,
}

/// Answers by status.
#[derive(Clone, Debug, Serialize)]
pub struct Statuses {
    /// By class: `2xx` and so on.
    pub classes: BTreeMap<String, u64>,
    /// By code.
    pub codes: BTreeMap<u16, u64>,
}

impl Statuses {
    pub(super) fn of(tally: &Tally) -> Self {
        let mut classes = BTreeMap::new();
        for (status, count) in &tally.statuses {
            *classes.entry(format!("{}xx", status / 100)).or_insert(0) += count;
        }
        let codes = tally.statuses.iter().copied().collect();
        Self { classes, codes }
    }
}

/// Connections and users.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Connections {
    /// How many connections were opened.
    pub opened: u64,
    /// The largest number of users at once; in an open loop, of requests under way.
    pub peak: usize,
}

/// The requests that had no answer at the end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unanswered {
    /// Their number.
    pub requests: u64,
    /// In an open loop: those of them that were due and not even sent.
    pub unsent: u64,
    /// How long the oldest of them had waited, in milliseconds.
    pub oldest_ms: f64,
}

/// What caches said about answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cache {
    /// Fresh, from a cache.
    pub hit: u64,
    /// Stale, from a cache.
    pub stale: u64,
    /// Not from a cache.
    pub miss: u64,
    /// Nothing was said.
    pub unsaid: u64,
    /// Hits and stale answers, in percent of those about which something was said.
    pub hits_percent: Option<f64>,
    /// Stale answers, in percent of the same.
    pub stale_percent: Option<f64>,
}

impl Cache {
    /// Returns the number of answers about which something was said.
    pub fn said(&self) -> u64 {
        self.hit + self.stale + self.miss
    }

    /// Returns the number of all complete answers, whether or not anything was said about them.
    pub fn all(&self) -> u64 {
        self.said() + self.unsaid
    }

    pub(super) fn of(tally: &Tally) -> Self {
        let [hit, stale, miss] =
            [Cached::Hit, Cached::Stale, Cached::Miss].map(|said| tally.cached(said));
        let said = hit + stale + miss;
        Self {
            hit,
            stale,
            miss,
            unsaid: tally.cached(Cached::Unsaid),
            hits_percent: percent(hit + stale, said),
            stale_percent: percent(stale, said),
        }
    }
}

pub(super) fn faults(tally: &Tally) -> BTreeMap<&'static str, u64> {
    let named = Fault::ALL.iter().zip(tally.faults);
    let happened = named.filter(|(_, count)| *count > 0);
    happened
        .map(|(fault, count)| (fault.name(), count))
        .collect()
}
