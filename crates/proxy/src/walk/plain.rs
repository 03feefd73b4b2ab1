//! Plain: a hit whose head goes out as it is kept or stored, since neither the site nor the client wants it changed. All others are
//! [delivered](super::deliver); what is said of a hit is the same here and there.

use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    listen::Prepared,
    outcome::Outcome,
    walk::{
        Answer, below,
        coding::{self, Chosen, Then},
        deliver, esi,
        lookup::Hit,
        report,
    },
};
use http::Method;
use std::rc::Rc;

/// Answers with a hit.
pub fn hit(worker: &Rc<Worker>, ask: &mut Ask, hit: Hit) -> Answer {
    if !is_plain(ask, &hit) {
        return Answer::Now(deliver::stored(worker, ask, hit));
    }
    let Hit {
        stored,
        reader,
        outcome,
        ..
    } = hit;
    below::used(worker, ask, &stored, &outcome);
    let chosen = coding::choose(worker, ask, stored, reader);
    match prepared(worker, ask, &chosen, &outcome) {
        Some(prepared) => Answer::Prepared(prepared),
        None => Answer::Now(deliver::in_form(worker, ask, chosen, None, &outcome)),
    }
}

/// Whether the answer is all of a stored response, with nothing about it changed but its coding.
fn is_plain(ask: &Ask, hit: &Hit) -> bool {
    let (policy, report) = (ask.policy(), &ask.site.report);
    let by_site = policy.browser_ttl.is_none()
        && policy.response_edits.is_empty()
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
        && !esi::concerns(ask, &hit.stored)
}

/// The answer with the chosen form, where its head takes no map.
fn prepared(
    worker: &Worker,
    ask: &mut Ask,
    chosen: &Chosen,
    outcome: &Outcome,
) -> Option<Prepared<ReplyBody>> {
    let Chosen { stored, then, .. } = chosen;
    // One that is debugged says more with each answer.
    if !matches!(then, Then::Nothing) || stored.is_debugged() {
        return None;
    }
    let content = stored.body.in_one()?;
    let head = worker
        .heads
        .borrow_mut()
        .as_sent(stored, content.len() as u64)?;
    let age = stored.facts.age(ask.now).as_secs();
    let age = worker.told.borrow_mut().age(age);
    let status = report::cache_status(worker, &ask.site, stored.status, outcome, None);
    let mut body = ReplyBody::from(Content::Whole(content));
    report::note(worker, ask, stored.status, outcome, &mut body);
    Some(Prepared::new(
        head,
        [age, status],
        body,
        ask.fields_as_they_came(),
    ))
}

#[cfg(test)]
mod tests;
