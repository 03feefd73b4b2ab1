//! What is stored, where the origin fails (RFC 5861 section 4, RFC 9111 section 4.2.4).

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::{Failing, bump},
    walk::{
        fetch::{Fetch, Landing},
        forward::collapse_key,
        lookup::{self, Need, answers, reuse_site},
    },
};
use http::StatusCode;
use rules::reuse;
use std::sync::Arc;
use store::{Body, Stored, fill::Reader};

impl Fetch<'_> {
    /// What is stored, where the origin's error may be hidden by it (RFC 5861 section 4).
    pub fn stale_instead(&self, status: StatusCode) -> Option<Landing> {
        if !self.ask.policy().stale.is_failure(status) {
            return None;
        }
        self.stored_instead(Failing::Status(status))
    }

    /// No answer came, or none that is one: where the origin is why, the cache is disconnected (RFC 9111 section 4.2.4).
    pub fn failed(&self, failure: Failure) -> Landing {
        if let Some(why) = Unshared::of_failure(&failure) {
            let table = &self.worker.cache.hit_for_miss;
            let key = collapse_key(self.ask, self.need);
            table.remember(&key, self.ask.asker(), why, self.times.response);
        }
        if !failure.is_the_origins() {
            return Landing::Failed(failure);
        }
        bump(&self.worker.counters.origin_errors);
        let instead = self.stored_instead(Failing::Unreachable(failure.clone().into()));
        instead.unwrap_or(Landing::Failed(failure))
    }

    fn stored_instead(&self, why: Failing) -> Option<Landing> {
        instead(self.worker, self.ask, self.need, why)
    }
}

/// What is stored and stands in for a fetch that has failed, for whoever fetched or waited for it.
pub fn instead(worker: &Worker, ask: &Ask, need: &Need, why: Failing) -> Option<Landing> {
    let selected = need.selected.as_ref()?;
    let (stored, reader) = if need.is_beside_fill(ask) {
        in_place(worker, ask, why.kind())?
    } else {
        let stored = usable_on_failure(worker, ask, selected, why.kind())?;
        (stored, None)
    };
    Some(Landing::Stale {
        stored,
        reader,
        why,
    })
}

/// What is there now, where a part could not be fetched beside a body on its way: that body, which brings the part later, or what is in its
/// place by now. With a reader, where it is on its way.
fn in_place(
    worker: &Worker,
    ask: &Ask,
    failure: reuse::Failure,
) -> Option<(Arc<Stored>, Option<Reader>)> {
    let held = worker.cache.memory.peek(ask.key.as_bytes())?;
    let selected = held.select(&ask.fields, &mut Vec::new(), clock::now())?;
    let Body::Filling(fill) = &selected.body else {
        let stored = usable_on_failure(worker, ask, selected, failure)?;
        return Some((stored, None));
    };
    let reader = fill.reader()?;
    let stored = may_stand_in(worker, ask, selected, failure)?;
    Some((stored, Some(reader)))
}

/// What is stored, where it may be sent although the origin failed: not if it was purged while that was waited for.
pub fn usable_on_failure(
    worker: &Worker,
    ask: &Ask,
    selected: &Arc<Stored>,
    failure: reuse::Failure,
) -> Option<Arc<Stored>> {
    let stored = may_stand_in(worker, ask, selected, failure)?;
    answers(ask, &stored).then_some(stored)
}

/// As [`usable_on_failure`], whether it holds all that the request wants or not.
fn may_stand_in(
    worker: &Worker,
    ask: &Ask,
    selected: &Arc<Stored>,
    failure: reuse::Failure,
) -> Option<Arc<Stored>> {
    let stored = lookup::unpurged(worker, ask, selected)?;
    let policy = ask.policy();
    // One failure hides no other, whichever the site counts.
    if policy.stale.is_failure(stored.status) {
        return None;
    }
    let site = reuse_site(policy);
    let usable = reuse::on_failure(&stored.facts, &ask.directives, &site, failure, clock::now());
    usable.then_some(stored)
}
