//! What remains of a line after the walk's functions were called.

use super::urls::{Fetch, Sampled};
use http::StatusCode;
use proxy::{hit_for_miss::Unshared, way::Terms};
use rules::{
    directives::RequestDirectives,
    freshness::Facts,
    reuse::{self, Verdict},
    time::Time,
};
use std::sync::Arc;

/// A request for which the store is asked.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Identifies key and variant.
    pub key: u64,
    /// Identifies the key.
    pub page: u64,
    /// Identifies the URL.
    pub url: u64,
    pub now: Time,
    /// When the answer of a fetch that begins now arrives.
    pub landed: Time,
    /// Bytes that the client got.
    pub sent: u64,
    /// What a fetch costs.
    pub fetch: Fetch,
    /// Answers of this URL that were kept before the event of this number are invalid.
    pub invalid_before: u64,
    pub directives: RequestDirectives,
    pub site: reuse::Site,
    pub terms: Terms,
    /// The origin's answer.
    pub status: StatusCode,
    /// Whether that is a failure by the site's definition.
    pub is_failure: bool,
}

impl Event {
    /// Judges whether `kept` may answer the request at `now`.
    pub(super) fn judge(&self, kept: &Kept, now: Time) -> Verdict {
        reuse::judge(&kept.facts, &self.directives, &self.site, now)
    }

    /// Whether `kept` hides from a request with these directives that the origin failed.
    pub(super) fn hides_behind(&self, kept: &Kept, directives: &RequestDirectives) -> bool {
        let failure = reuse::Failure::Status;
        self.is_failure
            && reuse::on_failure(&kept.facts, directives, &self.site, failure, self.landed)
    }
}

/// The fate of an answer under one lifetime.
#[derive(Clone, Debug)]
pub(super) enum Judged {
    Stored(Arc<Kept>),
    Not {
        /// What the answer means for other requests.
        why: Unshared,
        /// The fate of an answer to a refresh after a stale one, if it differs: the request's own directives do not
        /// count then.
        behind: Option<Box<Self>>,
    },
}

impl Judged {
    /// Returns the judgement for the answer to a refresh.
    pub(super) fn of_refresh(&self) -> Self {
        match self {
            Self::Not {
                behind: Some(judged),
                ..
            } => Self::clone(judged),
            judged => judged.clone(),
        }
    }
}

/// An answer that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub facts: Facts,
    /// Identifies its URL.
    pub url: u64,
    /// The number of the event that brought it.
    pub number: u64,
    /// The weight of its entry, in bytes.
    pub weight: u64,
    /// The length of its body.
    pub body: u64,
    /// The largest body that its route stores.
    pub largest: u64,
}

/// Events in order, and for each of them one judgement for each lifetime.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub events: Vec<Event>,
    pub judged: Vec<Judged>,
    /// The part of all events that these are.
    pub sampled: Sampled,
}

impl Batch {
    /// Returns the events with their judgements under one of `lifetimes` lifetimes.
    pub(super) fn under(
        &self,
        lifetime: usize,
        lifetimes: usize,
    ) -> impl Iterator<Item = (&Event, &Judged)> {
        let judged = self.judged.iter().skip(lifetime).step_by(lifetimes.max(1));
        self.events.iter().zip(judged)
    }
}
