//! Bypass: the request goes to the origin as it is and its answer comes back as it is; the store is not asked for it. What the answer tells
//! of what is stored counts all the same. The way there is told here, the way back in `answer`.

mod answer;
mod content;
mod head;
mod post;
pub mod rule;
mod stand_in;

use crate::{
    ask::{Ask, Upgrade},
    body::ReplyBody,
    cache::Worker,
    error::Failure,
    listen::RequestBody,
    outcome::{Bypass, Detail, Outcome, bump},
    policy::Esi,
    walk::{
        admit::Times,
        coding, deliver, esi,
        forward::give_fields_back,
        invalidate::{self, Undecided},
        lookup::Bypassed,
        outbound, receive,
        waiting::AbandonGuard,
    },
};
use answer::{Exchanged, land};
use content::{cut, request_body, room};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version, header};
use http_body::Body as _;
use origin::ResponseBody;
use rules::{fields, method, status::Forward};
use std::{rc::Rc, sync::Arc, time::Instant};

const MAX_FORWARDS: HeaderName = HeaderName::from_static("max-forwards");

/// Passes one request to its origin.
pub async fn bypass(
    worker: Rc<Worker>,
    mut ask: Ask,
    content: RequestBody,
    why: Bypassed,
) -> Response<ReplyBody> {
    if ask.directives.only_if_cached && method::is_safe(&ask.method) {
        // The store has no say here, so nothing stored can be had (RFC 9111 section 5.2.1.7).
        return deliver::failure(&worker, &ask, &Failure::OnlyIfCached);
    }
    if ends_here(&ask) {
        return deliver::ended(&worker, &ask);
    }
    let upgrade = ask.upgrade.take().map(|upgrade| *upgrade);
    let mut ask = Rc::new(ask);
    let guard = AbandonGuard::new(&worker, &*ask, Some(forward(why)));
    let began = Instant::now();
    let passed = pass(&worker, &ask, content, why, upgrade).await;
    guard.over();
    let mut response = match passed {
        Ok(response) => {
            // Who is told that something changed may rely on it, over a restart too.
            worker.cache.purger.settled().await;
            response
        }
        Err(failure) => {
            deliver::failed_forward(&worker, &ask, &failure, &failed(why, &failure, began))
        }
    };
    give_fields_back(&mut ask, &mut response);
    response
}

/// What is told of a request that went to its origin since `began`, and of which nothing came.
fn failed(why: Bypassed, failure: &Failure, began: Instant) -> Outcome {
    match failure {
        Failure::Origin(_) => Outcome {
            detail: Some(Detail::Failed(failure.clone())),
            origin_time: (!failure.asked_nobody()).then(|| began.elapsed()),
            ..Outcome::forwarded(forward(why))
        },
        _ => Outcome::failed(failure.clone()),
    }
}

fn forward(why: Bypassed) -> Forward {
    match why {
        Bypassed::Site(_) => Forward::Bypass,
        Bypassed::Method => Forward::Method,
        Bypassed::Condition(why) => why,
    }
}

/// Whether the application itself is meant, and not what it keeps for everybody.
fn means_application(ask: &Ask, why: Bypassed) -> bool {
    let by_rule = matches!(
        why,
        Bypassed::Site(
            Bypass::Cookie
                | Bypass::Header
                | Bypass::Path
                | Bypass::Ambiguous
                | Bypass::Query
                | Bypass::Method
                | Bypass::Group
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
    let mut fields = outgoing(ask, upgrade.as_ref())?;
    let body = request_body(ask, received)?;
    let whole = whole(ask, &mut fields);
    let ticket = worker.cache.memory.begin();
    let began = Instant::now();
    let mut asked = receive::now();
    let mut undecided = Undecided::begin(worker, ask);
    let mut answer = exchange(worker, ask, why, fields, body).await;
    if answer
        .as_ref()
        .is_err_and(|failure| !failure.may_have_arrived())
    {
        undecided.decided();
    }
    if let Some(whole) = whole
        && let Ok(response) = &answer
        && only_whole_is_right(ask, response.status(), response.headers())
    {
        // It keeps its turn while it is not read.
        drop(answer);
        asked = receive::now();
        let body = request_body(ask, RequestBody::none())?;
        answer = exchange(worker, ask, why, whole, body).await;
    }
    if let Some(stale) = stand_in::instead(worker, ask, (why, began), &answer) {
        return Ok(stale);
    }
    let response = answer?;
    let origin_time = began.elapsed();
    let times = Times::of(asked, receive::now(), response.extensions());
    let mut outcome = Outcome {
        origin_time: Some(origin_time),
        ..Outcome::forwarded(forward(why))
    };
    if let Bypassed::Site(reason) = why {
        outcome.detail = Some(Detail::Bypass(reason));
    }
    undecided.answered(response.status(), response.headers());
    let groups = invalidate::groups_on_disk(worker, ask, response.status(), response.headers());
    let groups = groups.await;
    undecided.decided();
    let exchanged = Exchanged {
        why,
        ticket,
        times,
        groups,
        outcome,
    };
    Ok(land(worker, ask, response, upgrade, exchanged))
}

/// The fields that the origin gets.
fn outgoing(ask: &Ask, upgrade: Option<&Upgrade>) -> Result<HeaderMap, Failure> {
    let mut fields = outbound::fields(ask)?;
    coding::for_origin(ask, &mut fields);
    if let Some(left) = forwards_left(ask) {
        fields.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
    if let Some(upgrade) = upgrade {
        // Hop-by-hop removal took the wish away; it is made anew, for the next hop.
        fields.insert(header::UPGRADE, upgrade.protocol.clone());
        fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    pass_expectation(ask, &mut fields);
    Ok(fields)
}

/// The client is told to send its content once the origin has told us (RFC 9110 section 10.1.1).
fn pass_expectation(ask: &Ask, fields: &mut HeaderMap) {
    if ask.has_content
        && ask.version >= Version::HTTP_11
        && let Some(expected) = ask.fields.get(header::EXPECT)
    {
        fields.insert(header::EXPECT, expected.clone());
    }
}

/// The `fields` of a request for a part, or on condition where pages may be composed, without that. With methods other than `GET` a range
/// means nothing (RFC 9110 section 14.2); an origin that takes it for one would send a part of a page that is composed here, and what does
/// something, or brings content, is not asked for twice: there it goes at once. So does a condition on a route of pages.
fn whole(ask: &Ask, fields: &mut HeaderMap) -> Option<HeaderMap> {
    const PART: [HeaderName; 2] = [header::RANGE, header::IF_RANGE];
    const CONDITION: [HeaderName; 2] = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
    let esi = ask.policy().esi;
    let is_retrieval = method::is_retrieval(&ask.method);
    if is_retrieval && (esi == Esi::On || (esi == Esi::Told && ask.has_content)) {
        fields::remove_where(fields, |name| CONDITION.contains(name));
    }
    let asks_once = ask.method != Method::GET || ask.has_content;
    if asks_once && esi != Esi::Off {
        fields::remove_where(fields, |name| PART.contains(name));
    }
    let is_left =
        |name: &HeaderName| PART.contains(name) || (esi != Esi::Off && CONDITION.contains(name));
    if asks_once || !fields.keys().any(is_left) {
        return None;
    }
    let mut whole = fields.clone();
    fields::remove_where(&mut whole, is_left);
    Some(whole)
}

/// Whether the answer to a request for a part, or on condition, is of no use: only the whole can be composed, and the client may hold it in
/// another coding.
fn only_whole_is_right(ask: &Ask, status: StatusCode, fields: &HeaderMap) -> bool {
    match status {
        StatusCode::PARTIAL_CONTENT => {
            esi::is_part_of_page(ask, fields) || coding::is_of_another(ask, fields, None)
        }
        StatusCode::NOT_MODIFIED | StatusCode::RANGE_NOT_SATISFIABLE => {
            esi::is_about_page(ask, fields)
        }
        _ => false,
    }
}

/// The request and its answer, both as they are.
async fn exchange(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    why: Bypassed,
    fields: HeaderMap,
    body: origin::RequestBody,
) -> Result<Response<ResponseBody>, Failure> {
    let room = body.size_hint().exact().is_none().then(|| room(worker));
    let request = outbound::as_it_came(ask, fields, body)?;
    let context = origin::Context {
        repeatable: !ask.has_content && ask.method.is_idempotent(),
        room,
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

/// `Max-Forwards` where it counts (RFC 9110 section 7.6.2).
fn forwards_left(ask: &Ask) -> Option<u64> {
    let counts = ask.method == Method::OPTIONS || ask.method == Method::TRACE;
    max_forwards(ask.fields.get(&MAX_FORWARDS).filter(|_| counts)?)
}

/// Digits alone; what is none, or too great for anybody to count, says nothing.
fn max_forwards(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Whether we are whom the request is meant for.
fn ends_here(ask: &Ask) -> bool {
    forwards_left(ask) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn max_forwards_is_a_number(number: u64, space in "[ \t]{0,2}") {
            let value = HeaderValue::try_from(format!("{space}{number}{space}")).expect("text");
            prop_assert_eq!(max_forwards(&value), Some(number));
        }

        #[test]
        fn what_is_no_number_says_nothing(text in "[ -~]{0,8}") {
            let value = HeaderValue::try_from(text.as_str()).expect("text");
            let text = text.trim();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(max_forwards(&value).is_some(), is_number);
        }

        #[test]
        fn any_bytes_may_come(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let _ = max_forwards(&value);
            }
        }
    }

    #[test]
    fn a_sign_is_no_digit() {
        assert_eq!(max_forwards(&HeaderValue::from_static("+0")), None);
        assert_eq!(
            max_forwards(&HeaderValue::from_static("18446744073709551616")),
            None
        );
    }
}
