//! Plain: a hit whose head goes out as it is kept or stored, since neither the site nor the client wants it changed.
//! All other hits are [delivered](super::deliver). What is said about a hit is the same in both.

use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    clock,
    listen::{Head, Prepared, Served},
    outcome::Outcome,
    walk::{
        coding::{self, Chosen, Then},
        deliver,
        lookup::Hit,
        page, report, tiers,
    },
};
use http::Method;
use std::{rc::Rc, sync::Arc};
use store::{Body, Stored};

/// Answers with a hit.
pub fn hit(worker: &Rc<Worker>, ask: &mut Ask, hit: Hit) -> Served<ReplyBody> {
    if !is_plain(ask, &hit) {
        return Served::Now(deliver::stored(worker, ask, hit));
    }
    let Hit {
        stored,
        reader,
        outcome,
        ..
    } = hit;
    tiers::used(worker, ask, &stored, &outcome);
    let chosen = coding::choose(worker, ask, stored, reader);
    match head(worker, &chosen) {
        Some(head) => Served::Prepared(prepared(worker, ask, chosen.stored, head, &outcome)),
        None => Served::Now(deliver::in_form(worker, ask, chosen, None, &outcome)),
    }
}

/// Whether the answer is all of a stored response, with nothing about it changed but its coding.
fn is_plain(ask: &Ask, hit: &Hit) -> bool {
    let (policy, report) = (ask.policy(), &ask.site.report);
    let by_site = policy.to_client.changes_nothing()
        && policy.user_context.is_none()
        && report.cache_status
        && !report.key
        && report.x_cache.is_none()
        && report.node.is_none();
    by_site
        && ask.method == Method::GET
        && !ask.said.conditions
        && hit.own.is_none()
        && hit.outcome.detail.is_none()
        && !page::may_be_page(ask, &hit.stored)
}

/// Returns the head of the chosen form, if it needs no map.
fn head(worker: &Worker, chosen: &Chosen) -> Option<Head> {
    let Chosen { stored, then, .. } = chosen;
    // A debugged response says more with each answer.
    if !matches!(then, Then::Nothing) || stored.is_debugged() {
        return None;
    }
    let length = match &stored.body {
        Body::Whole(content) => content.len() as u64,
        Body::Mapped(_) => stored.body.length()?,
        _ => return None,
    };
    worker.heads.borrow_mut().as_sent(stored, length)
}

/// Returns the answer with the chosen form.
fn prepared(
    worker: &Worker,
    ask: &mut Ask,
    stored: Arc<Stored>,
    head: Head,
    outcome: &Outcome,
) -> Prepared<ReplyBody> {
    let now = if outcome.waited {
        clock::now()
    } else {
        ask.now
    };
    let age = stored.facts.age(now).as_secs();
    let age = worker.field_values.borrow_mut().age(age);
    let status = report::cache_status(worker, &ask.site, stored.status, outcome, None);
    let sent_as = stored.status;
    let content = match stored.body.whole() {
        Some(_) => Content::Stored(stored),
        None => stored
            .body
            .in_one()
            .map_or(Content::Missing, Content::Whole),
    };
    let mut body = ReplyBody::from(content);
    report::note(worker, ask, sent_as, outcome, &mut body);
    Prepared::new(head, [age, status], body, ask.fields_as_they_came())
}

#[cfg(test)]
mod tests;
