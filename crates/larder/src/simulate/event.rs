//! What is left of a line once the walk's functions have been asked.

use super::urls::Sampled;
use http::StatusCode;
use proxy::{hit_for_miss::Unshared, way::Terms};
use rules::{
    directives::RequestDirectives,
    freshness::Facts,
    reuse::{self, Verdict},
    time::Time,
};
use std::sync::Arc;

/// A request that the store is asked for.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Names key and variant.
    pub key: u64,
    /// Names the key.
    pub page: u64,
    /// Names the URL.
    pub url: u64,
    pub now: Time,
    /// When a fetch that begins now brings its answer.
    pub landed: Time,
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
    pub terms: Terms,
    /// The origin's answer.
    pub status: StatusCode,
    /// Whether that is a failure, as the site counts them.
    pub is_failure: bool,
}

impl Event {
    /// Whether what is kept may answer it at `now`.
    pub(super) fn judge(&self, kept: &Kept, now: Time) -> Verdict {
        reuse::judge(&kept.facts, &self.directives, &self.site, now)
    }

    /// Whether what is kept hides that the origin failed, from a request of these directives.
    pub(super) fn hides_behind(&self, kept: &Kept, directives: &RequestDirectives) -> bool {
        let failure = reuse::Failure::Status;
        self.is_failure
            && reuse::on_failure(&kept.facts, directives, &self.site, failure, self.landed)
    }
}

/// What would become of the answer, under one lifetime.
#[derive(Clone, Debug)]
pub(super) enum Judged {
    Stored(Arc<Kept>),
    Not {
        /// What it is to others.
        why: Unshared,
        /// What would become of it behind a stale answer, where that is something else: the request's own directives do not count then.
        behind: Option<Box<Self>>,
    },
}

impl Judged {
    /// The same of the answer to a refresh.
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
    /// Names its URL.
    pub url: u64,
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
