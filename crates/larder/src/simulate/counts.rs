//! The counts over all lines, whether their URLs are followed or not.

use super::urls::{Cost, Fetch};
use rules::time::Time;
use std::collections::BTreeMap;

/// The counts over all lines.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Requests that a server would have taken.
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
    /// Requests for which the store is asked.
    pub asked: u64,
    pub asked_sent: u64,
    /// Those of them whose answers are not stored, for each lifetime.
    pub unfilled: Vec<Sum>,
    /// Those of them that the site does not let fill the store (`misses_with`).
    pub apart: Sum,
    pub apart_example: String,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub out_of_order: u64,
    pub notes: Notes,
}

impl Totals {
    /// Empty counts for this number of lifetimes.
    pub(super) fn new(lifetimes: usize) -> Self {
        Self {
            unfilled: vec![Sum::default(); lifetimes],
            ..Self::default()
        }
    }
}

/// Some requests, and what an origin does for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub requests: u64,
    /// Bytes that clients got.
    pub sent: u64,
    pub origin: Cost,
}

impl Sum {
    /// Adds a request that the origin answers.
    pub(super) fn add(&mut self, sent: u64, fetch: Fetch) {
        self.send(sent, 1);
        self.origin.add(fetch, 1);
    }

    /// Adds this many requests, whoever answers them.
    pub(super) fn send(&mut self, sent: u64, times: u64) {
        self.requests += times;
        self.sent = self.sent.saturating_add(sent.saturating_mul(times));
    }

    /// Scales this part of `some` up to `all`. If `some` is empty, the result is `all`.
    pub(super) fn of_all(&self, some: &Self, all: &Self) -> Self {
        let scaled = |part: u64, some: u64, all: u64| match some {
            0 => all,
            some => {
                let scaled = u128::from(part) * u128::from(all) / u128::from(some);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        };
        let (mine, its, whole) = (&self.origin, &some.origin, &all.origin);
        Self {
            requests: scaled(self.requests, some.requests, all.requests),
            sent: scaled(self.sent, some.sent, all.sent),
            origin: Cost {
                fetches: scaled(mine.fetches, its.fetches, whole.fetches),
                bytes: scaled(mine.bytes, its.bytes, whole.bytes),
                micros: scaled(mine.micros, its.micros, whole.micros),
            },
        }
    }

    /// Adds both.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            sent: self.sent.saturating_add(other.sent),
            origin: self.origin.and(&other.origin),
        }
    }
}

/// Some requests with something in common.
#[derive(Clone, Debug, Default)]
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
    /// Answers that got the usual type of their path's extension.
    pub without_type: u64,
    pub without_origin_time: u64,
    pub with_origin_time: u64,
    pub not_modified: u64,
    /// Requests whose sender's group is not in the log, although routes have groups.
    pub by_group: u64,
    pub parts: u64,
    pub unfinished: u64,
    /// Answers with fields about caching.
    pub with_directives: u64,
    /// Reasons that Larder's own log gave.
    pub with_reasons: u64,
    /// Requests that passed the store by because Larder's own log says so.
    pub told_bypassed: u64,
    pub with_fractions: bool,
}

impl Group {
    /// Adds a request; `example` describes it.
    pub(super) fn add(&mut self, fetch: Fetch, example: impl FnOnce() -> String) {
        if self.requests == 0 {
            self.example = example();
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(fetch.body);
        self.micros = self.micros.saturating_add(fetch.took);
    }
}
