//! What a HEAD's answer means for stored responses to GET (RFC 9111 section 4.3.5). This is for a HEAD that bypasses
//! the store, e.g. because the origin is to judge its condition. Any other HEAD goes out as a GET.

use super::answer::Asked;
use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    hit_for_miss::Unshared,
    walk::{
        admit::{self, Update},
        lookup::{self, Bypassed, bypassed},
        tiers,
    },
};
use http::{Method, StatusCode, response};
use rules::{
    fields,
    validate::{self, HeadSays},
};
use std::sync::Arc;
use store::{
    Body, Stored, Variants, disk,
    purge::Standing,
    shared::{IfNothing, SharedTierLookup},
};

/// Whether the answer to this request says something about what is stored. An answer that bypasses the store because the
/// site says so may be for one user, and does not.
pub fn is_heard(ask: &Ask, why: Bypassed) -> bool {
    ask.method == Method::HEAD && !matches!(why, Bypassed::Reason(_)) && bypassed::may_fill(ask)
}

/// Takes into memory what the tiers below have for a HEAD that [is heard](is_heard), or a request that is told that its
/// page [is gone](super::gone), if memory has nothing for it: the answer is about that too.
pub async fn bring(worker: &Worker, ask: &Ask) {
    let (cache, key) = (&worker.cache, ask.key.as_bytes());
    if let Some(disk) = &cache.disk
        && !is_in_memory(worker, ask)
    {
        let found = match disk.find(key, disk::Bodies::Left) {
            disk::DiskLookup::Nothing => Vec::new(),
            disk::DiskLookup::Here(found) => found,
            disk::DiskLookup::Wait(finding) => finding.await,
        };
        lookup::from_disk(worker, ask, clock::now(), found);
    }
    if let Some(tier) = &cache.shared
        && !is_in_memory(worker, ask)
    {
        let mut question = tier.question(key, &ask.fields);
        // Boxed because most sites have no such tier, and the future that waits for it is large.
        let found = Box::pin(tier.find(&mut question, IfNothing::Leave)).await;
        if let SharedTierLookup::Here(found) = found {
            lookup::adopted(worker, ask, clock::now(), found);
        }
    }
}

/// Whether memory has a response that could be chosen for this request.
fn is_in_memory(worker: &Worker, ask: &Ask) -> bool {
    let (memory, key) = (&worker.cache.memory, ask.key.as_bytes());
    let variants = memory.peek(key);
    let mut all = variants.iter().flat_map(Variants::as_slice);
    let mut scratch = Vec::new();
    all.any(|stored| {
        stored.matches(&ask.fields, &mut scratch)
            && !stored.body.is_gone()
            && memory.log().standing(key, stored) != Standing::Gone
    })
}

/// Applies a HEAD's answer to each stored response that could have been chosen for it, not to the newest alone (RFC
/// 9111 section 4.3.5). The answer does not know of purges since the ticket in `asked`.
pub fn says(worker: &Worker, ask: &Ask, head: &response::Parts, asked: Asked) {
    let variants = worker.cache.memory.peek(ask.key.as_bytes());
    let all = variants.as_ref().map_or(&[][..], Variants::as_slice);
    let mut scratch = Vec::new();
    for stored in all {
        // The task that fills a body must find its response again.
        let is_filling = matches!(stored.body, Body::Filling(_));
        // What a later request has brought is newer than this answer.
        let is_later = stored.is_later_than(asked.ticket);
        if !is_filling && !is_later && stored.matches(&ask.fields, &mut scratch) {
            says_of(worker, ask, stored, head, asked);
        }
    }
}

/// Freshens this stored response, or withdraws it as out of date.
fn says_of(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    head: &response::Parts,
    Asked { ticket, times }: Asked,
) {
    let (key, log) = (ask.key.as_bytes(), worker.cache.memory.log());
    let log_at = stored.checked().min(ticket.log_at);
    let known = stored.all_fields(0);
    let length = stored.body.length();
    match validate::head_says(head.status, &head.headers, &known, length, times.response) {
        HeadSays::Nothing => return,
        // Fields that `Connection` names are for us alone.
        HeadSays::Freshen if fields::names_end_to_end(&head.headers) => return,
        HeadSays::Freshen if ask.is_overruled(worker) => return,
        HeadSays::Disqualify => return tiers::withdraw(worker, key, stored, ticket.number),
        // What was purged is not made better by what the origin says of it.
        HeadSays::Freshen if log.standing(key, stored) != Standing::Good => return,
        HeadSays::Freshen => {}
    }
    let is_same = validate::is_same_content(&head.headers, &known);
    let fields = admit::merged(ask, stored, &head.headers);
    let variant = admit::variant_after(ask, stored, &head.headers, &fields);
    // It varies by fields that did not select it when it was stored, so it is not known for which requests it was made.
    if variant != stored.variant && !is_same {
        return tiers::withdraw(worker, key, stored, ticket.number);
    }
    match admit::judge_update(ask, times, stored, &head.headers) {
        Err(why) => {
            let why = Unshared::NotStored(why);
            let is_fresh = stored.facts.remaining(times.response).is_some();
            if why.withdraws(StatusCode::OK, is_fresh, ask.credentials()) {
                tiers::withdraw(worker, key, stored, ticket.number);
            }
        }
        Ok((storable, fields)) => {
            let of = (variant.as_deref(), ticket.log_at);
            let update = Update {
                log_at,
                version: head.version,
                storable,
                fields: &fields,
                marks: admit::marks(worker, ask, &fields, of, Some(stored)),
                variant,
                body: stored.body.clone(),
                at: times.response,
                fetch: None,
            };
            let fresh = Arc::new(admit::updated(ask, stored, update));
            if !worker.cache.memory.freshen(key, stored, &fresh) {
                return;
            }
            if log.is_hidden_by(key, stored, &fresh, log_at) {
                // Purged just now. No tier below has it yet.
                worker.cache.memory.give_up(key, &fresh);
                return;
            }
            tiers::keep_freshened(worker, key, stored, &fresh, None);
        }
    }
}
