//! A stored response that answers a bypassing request if the origin fails. This is for requests that bypass the store
//! only so that their answer is not kept (`misses_with`), or because the origin is to judge their condition. They get
//! what other clients get, as far as it meets the condition.

use super::forward_reason;
use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    error::Failure,
    outcome::{Failing, Outcome},
    walk::{
        deliver,
        land::{on_failure, usable_on_failure},
        lookup::{Bypassed, Hit, condition_is_the_origins},
    },
};
use http::Response;
use rules::status::Handled;
use std::{rc::Rc, time::Instant};

/// Returns what is sent instead of this answer. `went` is why and when the request went to the origin.
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
        Ok(response) if response.extensions().get() == Some(&origin::Lifetime::Never) => {
            Failing::BrokeOff(response.status())
        }
        Err(failure) if failure.is_the_origins() => Failing::Unreachable(failure.clone().into()),
        _ => return None,
    };
    let (why, began) = went;
    let stored = usable_on_failure(worker, ask, selected, &failing)?;
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
