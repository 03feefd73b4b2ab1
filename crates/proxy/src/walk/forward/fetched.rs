//! Turns what a fetch came to into an answer.

use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    clock,
    error::Failure,
    outcome::{Detail, Outcome},
    walk::{
        deliver,
        fetch::{Fetched, Landing},
        land::on_failure,
        lookup::{Hit, Need},
        refresh,
    },
};
use http::Response;
use rules::status::{self, Handled};
use std::rc::Rc;

/// What a request comes to with an answer from a lower tier.
pub const fn not_fetched(landing: Landing) -> Fetched {
    Fetched {
        landing,
        origin_status: None,
        origin_time: None,
        aged: false,
        collapsed: false,
    }
}

/// What a request comes to when it has followed a fetch that failed.
pub fn followed(landing: Landing) -> Fetched {
    let origin_status = match &landing {
        Landing::Stale { why, .. } => why.status(),
        _ => None,
    };
    Fetched {
        origin_status,
        collapsed: true,
        ..not_fetched(landing)
    }
}

/// Answers with what a lower tier had. If that is stale, and is fetched again meanwhile, that begins now, as with what
/// memory has.
pub fn found(worker: &Rc<Worker>, ask: &Rc<Ask>, hit: Hit) -> Response<ReplyBody> {
    if hit.refreshes() {
        refresh::spawn(worker, ask, &hit.stored);
    }
    deliver::stored(worker, ask, hit)
}

/// Turns what a fetch came to into an answer.
pub fn answer(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: &Need,
    fetched: Fetched,
) -> Response<ReplyBody> {
    let outcome = outcome(need, &fetched);
    let hit = match fetched.landing {
        Landing::Found(hit) => return found(worker, ask, *hit),
        Landing::Stored {
            stored,
            reader,
            own,
            ..
        } => Hit {
            stored,
            reader,
            outcome,
            own,
        },
        Landing::Stale { stored, reader, .. } => Hit {
            stored,
            reader,
            outcome,
            own: None,
        },
        Landing::Raw { head, content, .. } => {
            return deliver::raw(worker, ask, head, content, &outcome);
        }
        Landing::Failed(failure) => {
            return deliver::failed_forward(worker, ask, &failure, &outcome);
        }
    };
    deliver::stored(worker, ask, hit)
}

/// Returns the outcome of a fetch.
fn outcome(need: &Need, fetched: &Fetched) -> Outcome {
    let asked_nobody = match &fetched.landing {
        Landing::Failed(failure) => failure.asked_nobody(),
        Landing::Stale { why, .. } => why.asked_nobody(),
        Landing::Found(_) | Landing::Stored { .. } | Landing::Raw { .. } => false,
    };
    let handled = |stored| Handled::Forwarded {
        why: need.why,
        status: fetched.origin_status,
        stored,
        collapsed: fetched.collapsed,
    };
    let forwarded = Outcome {
        handled: handled(false),
        origin_time: fetched.origin_time.filter(|_| !asked_nobody),
        aged: fetched.aged,
        ..Outcome::forwarded(need.why)
    };
    let (stored, ttl, detail) = match &fetched.landing {
        Landing::Found(hit) => return hit.outcome.clone(),
        Landing::Stored { stored, kept, .. } => {
            let left = stored.facts.remaining(clock::now());
            let detail = kept.clone().err().or_else(|| need.detail.clone());
            // What was said to this request alone has no lifetime for others.
            let is_for_others = !matches!(kept, Err(Detail::NotStored(_)));
            let ttl = left.filter(|_| is_for_others).map(status::ttl);
            (kept.is_ok(), ttl, detail)
        }
        Landing::Stale { stored, why, .. } => {
            let (ttl, detail) = on_failure(stored, why.clone());
            (false, Some(ttl), Some(detail))
        }
        Landing::Raw { kept, .. } => {
            let left = kept.as_ref().ok().copied().flatten();
            (kept.is_ok(), left.map(status::ttl), kept.clone().err())
        }
        // It was refused before an origin was asked (`Fetch::begin`).
        Landing::Failed(failure @ (Failure::BadRequest(_) | Failure::Loop)) => {
            return Outcome::failed(failure.clone());
        }
        Landing::Failed(failure) => {
            let detail = Some(Detail::Failed(failure.clone()));
            return Outcome {
                detail,
                ..forwarded
            };
        }
    };
    Outcome {
        handled: handled(stored),
        ttl,
        detail,
        ..forwarded
    }
}
