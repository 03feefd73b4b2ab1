//! What is left of a line once the walk's functions have been asked.

use super::urls::Sampled;
use rules::{directives::RequestDirectives, freshness::Facts, reuse, time::Time};
use std::sync::Arc;

/// A request that the store is asked for.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Names key and variant.
    pub key: u64,
    /// Names the URL.
    pub url: u64,
    pub now: Time,
    /// Bytes that the client got.
    pub sent: u64,
    /// Bytes of the body that a fetch brings.
    pub body: u64,
    /// How long a fetch takes, in microseconds.
    pub took: u64,
    /// What was kept of this URL before the event of this number is invalid.
    pub invalid_before: u64,
    pub directives: RequestDirectives,
    pub site: reuse::Site,
    /// The origin failed, in a way that something stored may hide.
    pub failed: bool,
    /// Its answer may be stored, as far as the site goes.
    pub fills: bool,
}

/// What would become of the answer, under one lifetime.
#[derive(Clone, Debug)]
pub(super) enum Judged {
    Stored(Arc<Kept>),
    Not {
        /// What is kept is out of date.
        withdraws: bool,
    },
}

/// An answer that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub facts: Facts,
    /// Names its URL.
    pub url: u64,
    /// When its fetch began; it is there from `facts.response_time` on.
    pub asked: Time,
    /// Of the event that brought it.
    pub number: u64,
    /// What its entry weighs, in bytes.
    pub weight: u64,
    /// The length of its body.
    pub body: u64,
    /// The largest body that its route stores.
    pub largest: u64,
}

/// Events in order, and for each of them as many judgements as there are lifetimes.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub events: Vec<Event>,
    pub judged: Vec<Judged>,
    /// Which part of all they are.
    pub sampled: Sampled,
}

impl Batch {
    /// The events with their judgements under one of `lifetimes` lifetimes.
    pub(super) fn under(
        &self,
        lifetime: usize,
        lifetimes: usize,
    ) -> impl Iterator<Item = (&Event, &Judged)> {
        let judged = self.judged.iter().skip(lifetime).step_by(lifetimes.max(1));
        self.events.iter().zip(judged)
    }
}
