//! Bypass: sends the request to the origin as it is and its answer back as it is, without asking the store. What the
//! answer says about stored responses still counts. This module sends the request; `answer` handles the answer.

mod answer;
mod content;
mod gone;
mod head;
mod max_forwards;
mod outgoing;
mod post;
mod stand_in;

use crate::{
    ask::{Ask, Upgrade},
    body::ReplyBody,
    cache::Worker,
    clock,
    error::Failure,
    listen::RequestBody,
    outcome::{BypassReason, Detail, Outcome, bump},
    walk::{
        admit::Times,
        deliver,
        invalidate::{self, Undecided},
        lookup::Bypassed,
        outbound,
        waiting::AbandonGuard,
    },
};
use answer::{Asked, Exchanged, land};
use content::{cut, request_body, room};
use http::{HeaderMap, Response, StatusCode, header};
use http_body::Body as _;
use origin::{ResponseBody, Sent};
use outgoing::{only_whole_is_right, outgoing, whole};
use rules::{method::is_safe, status::ForwardReason};
use std::{rc::Rc, sync::Arc, time::Instant};

/// Passes one request to its origin.
pub async fn bypass(
    worker: Rc<Worker>,
    mut ask: Box<Ask>,
    content: RequestBody,
    why: Bypassed,
) -> Response<ReplyBody> {
    if ask.directives.only_if_cached && is_safe(&ask.method) {
        // The store has no say here, so no stored response can be had (RFC 9111 section 5.2.1.7).
        return deliver::failure(&worker, &ask, &Failure::OnlyIfCached);
    }
    if max_forwards::ends_here(&ask) {
        return deliver::ended(&worker, &ask);
    }
    let upgrade = ask.receipt.upgrade.take().map(|upgrade| *upgrade);
    let mut ask = Rc::from(ask);
    let guard = match AbandonGuard::for_origin(&worker, &*ask, Some(forward_reason(why))) {
        Ok(guard) => guard,
        Err(failure) => return deliver::failure(&worker, &ask, &failure),
    };
    let began = Instant::now();
    let passed = pass(&worker, &ask, content, why, upgrade).await;
    guard.over();
    let mut response = match passed {
        Ok(response) => {
            // A client that is told of a change may rely on it, also after a restart.
            worker.cache.purger.settled().await;
            response
        }
        Err(failure) => {
            deliver::failed_forward(&worker, &ask, &failure, &failed(why, &failure, began))
        }
    };
    deliver::give_fields_back(&mut ask, &mut response);
    response
}

/// The outcome of a request that went to its origin at `began` and got no answer.
fn failed(why: Bypassed, failure: &Failure, began: Instant) -> Outcome {
    match failure {
        // Its content broke off before any of it was sent.
        Failure::Origin(error)
            if error.kind() == origin::Kind::RequestBody && !error.was_sent() =>
        {
            Outcome::failed(failure.clone())
        }
        Failure::Origin(_) => Outcome {
            detail: Some(Detail::Failed(failure.clone())),
            origin_time: (!failure.asked_nobody()).then(|| began.elapsed()),
            ..Outcome::forwarded(forward_reason(why))
        },
        _ => Outcome::failed(failure.clone()),
    }
}

fn forward_reason(why: Bypassed) -> ForwardReason {
    match why {
        Bypassed::Reason(_) => ForwardReason::Bypass,
        Bypassed::Method => ForwardReason::Method,
        Bypassed::Condition(why) => why,
    }
}

/// Whether the request is for the application itself, and not for pages that it keeps for everybody.
fn means_application(ask: &Ask, why: Bypassed) -> bool {
    let by_rule = matches!(
        why,
        Bypassed::Reason(
            BypassReason::Cookie
                | BypassReason::Header
                | BypassReason::Path
                | BypassReason::Ambiguous
                | BypassReason::Query
                | BypassReason::Method
                | BypassReason::Group
        )
    );
    by_rule || ask.fields.contains_key(header::AUTHORIZATION)
}

async fn pass(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    received: RequestBody,
    why: Bypassed,
    upgrade: Option<Upgrade>,
) -> Result<Response<ReplyBody>, Failure> {
    let mut fields = outgoing(ask, upgrade.as_ref(), &received)?;
    let body = request_body(ask, received)?;
    let whole = whole(ask, &mut fields);
    let ticket = worker.cache.memory.begin();
    let began = Instant::now();
    let mut asked = clock::now();
    let mut undecided = Undecided::begin(worker, ask);
    let mut answer = exchange(worker, ask, (why, undecided.sent()), fields, body).await;
    if let Some(whole) = whole
        && let Ok(response) = &answer
        && only_whole_is_right(ask, response.status(), response.headers())
    {
        // An answer holds its turn until it is read or dropped.
        drop(answer);
        asked = clock::now();
        let body = request_body(ask, RequestBody::none())?;
        answer = exchange(worker, ask, (why, undecided.sent()), whole, body).await;
    }
    if let Some(stale) = stand_in::instead(worker, ask, (why, began), &answer) {
        return Ok(stale);
    }
    let response = answer?;
    let origin_time = began.elapsed();
    let times = Times::of(asked, clock::now(), response.extensions());
    let mut outcome = Outcome {
        origin_time: Some(origin_time),
        ..Outcome::forwarded(forward_reason(why))
    };
    if let Bypassed::Reason(reason) = why {
        outcome.detail = Some(Detail::Bypass(reason));
    }
    undecided.answered(response.status(), response.headers());
    let groups = invalidate::groups_below(worker, ask, response.status(), response.headers());
    let groups = groups.await;
    undecided.decided();
    let status = response.status();
    if status == StatusCode::OK && head::is_heard(ask, why) || gone::is_said(ask, why, status) {
        head::bring(worker, ask).await;
    }
    let exchanged = Exchanged {
        why,
        asked: Asked { ticket, times },
        groups,
        outcome,
    };
    Ok(land(worker, ask, response, upgrade, exchanged))
}

/// Sends the request as it is, and returns the answer as it is. `sent` learns whether some of it may have arrived.
async fn exchange(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    (why, sent): (Bypassed, Sent),
    fields: HeaderMap,
    body: origin::RequestBody,
) -> Result<Response<ResponseBody>, Failure> {
    let room = body.size_hint().exact().is_none().then(|| room(worker));
    let request = outbound::as_it_came(ask, fields, body)?;
    let context = origin::Context {
        repeatable: !ask.receipt.has_content
            && ask.method.is_idempotent()
            && !outbound::is_overridden(&ask.fields),
        room,
        sent,
        ..outbound::context(ask, || means_application(ask, why))
    };
    let answer = ask.policy().origin.fetch(request, context).await;
    answer.map_err(|error| {
        let failure = cut(&error).unwrap_or_else(|| Failure::Origin(Arc::new(error)));
        if failure.is_the_origins() {
            bump(&worker.counters.origin_errors);
        }
        failure
    })
}
