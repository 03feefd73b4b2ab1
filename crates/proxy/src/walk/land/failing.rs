//! Stored responses as answers when the origin fails (RFC 5861 section 4, RFC 9111 section 4.2.4).

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::{Detail, Failing, bump},
    walk::{
        fetch::{Fetch, Landing},
        lookup::{self, Need, answers, reuse_site},
    },
};
use http::{Response, StatusCode};
use origin::ResponseBody;
use rules::{reuse, status, storable::NotStorable};
use std::sync::Arc;
use store::{Body, Stored, fill::Reader};

impl Fetch<'_> {
    /// Returns a stored response that may hide the origin's error (RFC 5861 section 4).
    pub fn stale_instead(&self, status: StatusCode) -> Option<Landing> {
        if !self.ask.policy().stale.is_failure(status) {
            return None;
        }
        self.stored_instead(Failing::Status(status))
    }

    /// Handles a missing or unusable answer. If the origin is the reason, the cache is disconnected (RFC 9111 section
    /// 4.2.4).
    pub fn failed(&self, failure: Failure) -> Landing {
        if let Some(why) = Unshared::of_failure(&failure) {
            let key = self.need.collapse_key(self.ask);
            let now = self.times.response;
            self.ask.remember_unshared(self.worker, &key, why, now);
        }
        if !failure.is_the_origins() {
            return Landing::Failed(failure);
        }
        bump(&self.worker.counters.origin_errors);
        let instead = self.stored_instead(Failing::Unreachable(failure.clone().into()));
        instead.unwrap_or(Landing::Failed(failure))
    }

    /// Handles an answer whose maker broke off. It says nothing of what is stored, and only a stored response may hide
    /// it.
    pub fn broke_off(&self, response: Response<ResponseBody>) -> Landing {
        let status = response.status();
        let instead = if status.is_server_error() {
            self.stale_instead(status)
        } else {
            self.stored_instead(Failing::BrokeOff(status))
        };
        instead.unwrap_or_else(|| {
            let (head, body) = response.into_parts();
            let why = Detail::NotStored(NotStorable::NoStore);
            self.remember_unkept(StatusCode::INTERNAL_SERVER_ERROR, &why, false);
            Landing::Raw {
                head,
                content: self.unstored(body),
                kept: Err(why),
                pump: None,
            }
        })
    }

    fn stored_instead(&self, why: Failing) -> Option<Landing> {
        instead(self.worker, self.ask, self.need, why)
    }
}

/// Returns the stored response that stands in for a failed fetch, for the request that fetched or one that waited for
/// it.
pub fn instead(worker: &Worker, ask: &Ask, need: &Need, why: Failing) -> Option<Landing> {
    let selected = need.selected.as_ref()?;
    let (stored, reader) = if need.is_beside_fill(ask) {
        in_place(worker, ask, &why)?
    } else {
        let stored = usable_on_failure(worker, ask, selected, &why)?;
        (stored, None)
    };
    Some(Landing::Stale {
        stored,
        reader,
        why,
    })
}

/// Returns what is stored now, after a part could not be fetched beside a body on its way: that body, which brings the
/// part later, or what has replaced it. With a reader if it is on its way.
fn in_place(worker: &Worker, ask: &Ask, why: &Failing) -> Option<(Arc<Stored>, Option<Reader>)> {
    let held = worker.cache.memory.peek(ask.key.as_bytes())?;
    let selected = held.select(&ask.fields, &mut Vec::new(), clock::now())?;
    let Body::Filling(fill) = &selected.body else {
        let stored = usable_on_failure(worker, ask, selected, why)?;
        return Some((stored, None));
    };
    let reader = fill.reader()?;
    let stored = may_stand_in(worker, ask, selected, why)?;
    Some((stored, Some(reader)))
}

/// Returns the stored response if it may be sent although the origin failed. It may not if it was purged while the
/// origin was waited for.
pub fn usable_on_failure(
    worker: &Worker,
    ask: &Ask,
    selected: &Arc<Stored>,
    why: &Failing,
) -> Option<Arc<Stored>> {
    let stored = may_stand_in(worker, ask, selected, why)?;
    answers(ask, &stored).then_some(stored)
}

/// Like [`usable_on_failure`], but whether or not it holds all that the request wants.
fn may_stand_in(
    worker: &Worker,
    ask: &Ask,
    selected: &Arc<Stored>,
    why: &Failing,
) -> Option<Arc<Stored>> {
    let stored = lookup::unpurged(worker, ask, selected)?;
    let policy = ask.policy();
    // A stored failure does not hide another, whichever the site counts as failures.
    if policy.stale.is_failure(stored.status) {
        return None;
    }
    let (site, now) = (reuse_site(policy), clock::now());
    let is_too_old_for_groups = || ask.asks_group() && stored.facts.remaining(now).is_none();
    if why.may_have_arrived() && is_too_old_for_groups() {
        // An application that has the question and names no group is there to make the page. If it cannot be reached, the
        // pages are as old as what is known of groups.
        return None;
    }
    let usable = reuse::on_failure(&stored.facts, &ask.directives, &site, why.kind(), now);
    usable.then_some(stored)
}

/// Returns the `ttl` of a stored response that is sent because the origin failed, and the reason. It is fresh if the
/// client wanted the origin's own answer.
pub fn on_failure(stored: &Stored, why: Failing) -> (i64, Detail) {
    let now = clock::now();
    let Some(left) = stored.facts.remaining(now) else {
        let ttl = status::stale_ttl(stored.facts.staleness(now));
        return (ttl, Detail::StaleOnFailure(why));
    };
    (status::ttl(left), Detail::FreshOnFailure(why))
}
