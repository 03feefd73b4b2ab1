//! What the answer to a request with a condition for the origin means for stored responses: nothing, unless it says that
//! the page is gone. An application may answer a condition that fails with any other status, for that client alone.

use crate::{
    ask::Ask,
    cache::Worker,
    hit_for_miss::Credentials,
    walk::{
        lookup::{Bypassed, bypassed},
        tiers,
    },
    way,
};
use http::StatusCode;
use store::{Ticket, Variants};

/// Whether the answer of `status` to this request, which bypassed the store for the reason `why`, says for everybody that
/// the page is gone or has moved for good. One to a request with credentials is taken to be about these.
pub fn is_said(ask: &Ask, why: Bypassed, status: StatusCode) -> bool {
    way::is_gone(status)
        && matches!(why, Bypassed::Condition(_))
        && ask.credentials() != Credentials::Authorization
        && bypassed::may_fill(ask)
}

/// Withdraws all that could have been chosen for this request, except what a later one than that of `ticket` has brought.
pub fn heed(worker: &Worker, ask: &Ask, ticket: Ticket) {
    let key = ask.key.as_bytes();
    let here = worker.cache.memory.peek(key);
    let mut scratch = Vec::new();
    let here = here.iter().flat_map(Variants::as_slice);
    let old = here
        .filter(|stored| !stored.is_later_than(ticket) && stored.matches(&ask.fields, &mut scratch))
        .map(|stored| &**stored);
    tiers::withdraw_all(worker, key, old, ticket.number);
}
