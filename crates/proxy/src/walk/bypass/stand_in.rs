//! What is stored, for a request that bypasses the store only lest its answer be kept (`misses_with`), or since it has a condition that the
//! origin is to judge, where the origin fails: what others get then answers it too, as far as it meets the condition.

use super::forward_reason;
use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    error::Failure,
    outcome::{Failing, Outcome},
    walk::{
        deliver,
        forward::on_failure,
        land::usable_on_failure,
        lookup::{Bypassed, Hit, condition_is_the_origins},
    },
};
use http::Response;
use rules::status::Handled;
use std::{rc::Rc, time::Instant};

/// What goes out instead of this answer, of a request that `went` to the origin for this reason at this moment.
pub(super) fn instead<B>(
    worker: &Rc<Worker>,
    ask: &Ask,
    went: (Bypassed, Instant),
    answer: &Result<Response<B>, Failure>,
) -> Option<Response<ReplyBody>> {
    let selected = ask.stand_in.as_ref()?;
    let failing = match answer {
        Ok(response) if ask.policy().stale.is_failure(response.status()) => {
            Failing::Status(response.status())
        }
        Err(failure) if failure.is_the_origins() => Failing::Unreachable(failure.clone().into()),
        _ => return None,
    };
    let (why, began) = went;
    let stored = usable_on_failure(worker, ask, selected, failing.kind())?;
    if condition_is_the_origins(ask, &stored) {
        return None;
    }
    let origin_time = (!failing.asked_nobody()).then(|| began.elapsed());
    let status = failing.status();
    let (ttl, detail) = on_failure(&stored, failing);
    let outcome = Outcome {
        handled: Handled::Forwarded {
            why: forward_reason(why),
            status,
            stored: false,
            collapsed: false,
        },
        ttl: Some(ttl),
        detail: Some(detail),
        origin_time,
        ..Outcome::forwarded(forward_reason(why))
    };
    let hit = Hit {
        stored,
        reader: None,
        outcome,
        own: None,
    };
    Some(deliver::stored(worker, ask, hit))
}
