//! Bypass: the request goes to the origin as it is and its answer comes back as it is; the store is not asked.

mod head;
pub mod rule;

use crate::{
    ask::{Ask, Upgrade},
    body::{Content, ReplyBody},
    cache::Worker,
    error::Failure,
    listen::RequestBody,
    outcome::{Bypass, Detail, Outcome, Unkept, bump},
    walk::{
        admit::{self, Times},
        arrival::Arrival,
        coding, deliver, esi, fetch,
        forward::begin_fill,
        invalidate,
        lookup::Bypassed,
        outbound,
        pump::{Destination, Pump, Room},
        receive, tunnel,
        waiting::Waiting,
    },
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header, response};
use http_body::Body as _;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_util::rt::TokioIo;
use origin::ResponseBody;
use rules::{
    fields,
    status::{Forward, Handled},
    storable::NotStorable,
};
use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use store::Ticket;

const MAX_FORWARDS: HeaderName = HeaderName::from_static("max-forwards");

/// Passes one request to its origin.
pub async fn bypass(
    worker: Rc<Worker>,
    mut ask: Ask,
    content: RequestBody,
    why: Bypassed,
) -> Response<ReplyBody> {
    if ask.directives.only_if_cached && ask.method.is_safe() {
        // The store has no say here, so nothing stored can be had (RFC 9111 section 5.2.1.7).
        return deliver::failure(&worker, &ask, &Failure::OnlyIfCached);
    }
    if ends_here(&ask) {
        return deliver::ended(&worker, &ask);
    }
    let upgrade = ask.upgrade.take().map(|upgrade| *upgrade);
    let ask = Rc::new(ask);
    let waiting = Waiting::new(&worker, &*ask, Some(forward(why)));
    let passed = pass(&worker, &ask, content, why, upgrade).await;
    waiting.over();
    match passed {
        Ok(response) => {
            // Who is told that something changed may rely on it, over a restart too.
            worker.cache.purger.settled().await;
            response
        }
        Err(failure) => deliver::failed_forward(&worker, &ask, &failure, &failed(why, &failure)),
    }
}

fn failed(why: Bypassed, failure: &Failure) -> Outcome {
    match failure {
        Failure::Origin(_) => Outcome {
            detail: Some(Detail::Failed(failure.clone())),
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
fn is_personal(ask: &Ask, why: Bypassed) -> bool {
    let by_rule = matches!(
        why,
        Bypassed::Site(
            Bypass::Cookie
                | Bypass::Header
                | Bypass::Path
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
    let mut fields = outbound::fields(ask)?;
    rules::coding::for_origin(&mut fields);
    if let Some(left) = forwards_left(ask) {
        fields.insert(MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
    if let Some(upgrade) = &upgrade {
        // Hop-by-hop removal took the wish away; it is made anew, for the next hop.
        fields.insert(header::UPGRADE, upgrade.protocol.clone());
        fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    let body = request_body(ask, received)?;
    let whole = ask.fields.contains_key(header::RANGE).then(|| {
        let mut fields = fields.clone();
        fields.remove(header::RANGE);
        fields
    });
    let ticket = worker.cache.memory.begin();
    let began = Instant::now();
    let mut asked = receive::now();
    let mut response = exchange(worker, ask, why, fields, body).await?;
    if let Some(whole) = whole
        && response.status() == StatusCode::PARTIAL_CONTENT
        && !ask.has_content
        && only_whole_is_right(ask, response.headers())
    {
        asked = receive::now();
        response = exchange(
            worker,
            ask,
            why,
            whole,
            request_body(ask, RequestBody::none())?,
        )
        .await?;
    }
    let origin_time = began.elapsed();
    let times = Times {
        request: asked.plus(response.body().waited()),
        response: receive::now(),
        lifetime: response.extensions().get().copied(),
    };
    let mut outcome = Outcome {
        origin_time: Some(origin_time),
        ..Outcome::forwarded(forward(why))
    };
    if let Bypassed::Site(reason) = why {
        outcome.detail = Some(Detail::Bypass(reason));
    }
    let groups = invalidate::groups_on_disk(worker, ask, response.status(), response.headers());
    let groups = groups.await;
    Ok(land(
        worker,
        ask,
        response,
        upgrade,
        ((ticket, times), groups),
        (why, outcome),
    ))
}

/// Whether a part with these fields is of no use: only the whole can be composed, and the client may hold it in another coding.
fn only_whole_is_right(ask: &Ask, fields: &HeaderMap) -> bool {
    esi::is_part_of_page(ask, fields)
        || (ask.method == Method::GET && coding::is_of_another(ask, fields, None))
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
        ..outbound::context(ask, || is_personal(ask, why))
    };
    let answer = ask.policy().origin.fetch(request, context).await;
    answer.map_err(|error| {
        bump(&worker.counters.origin_errors);
        if outgrew_limit(&error) {
            return Failure::BodyTooLarge;
        }
        Failure::Origin(Arc::new(error))
    })
}

/// An answer has come: what it invalidates, freshens or stores, and its way back.
fn land(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    response: Response<ResponseBody>,
    upgrade: Option<Upgrade>,
    (when, groups): ((Ticket, Times), Vec<String>),
    (why, mut outcome): (Bypassed, Outcome),
) -> Response<ReplyBody> {
    let status = response.status();
    outcome.handled = with_status(outcome.handled, status, false);
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return switch(worker, ask, response, upgrade, &outcome);
    }
    let undisturbed = worker.cache.memory.holds(ask.key.as_bytes(), when.0);
    invalidate::invalidate(worker, ask, status, response.headers(), groups);
    let (head, body) = response.into_parts();
    // What the site passes the store by for may be one user's, and says nothing of what is stored.
    if ask.method == Method::HEAD && !matches!(why, Bypassed::Site(_)) {
        head::says(worker, ask, &head, when.1);
    }
    let content = if ask.method == Method::POST && undisturbed && rule::may_fill(ask) {
        match store_post(worker, ask, &head, body, when.1) {
            Post::Stored(content) => {
                outcome.handled = with_status(outcome.handled, status, true);
                content
            }
            Post::Passed(body, why) => {
                let says_more = !matches!(why, Detail::NotStored(NotStorable::Method));
                outcome.detail = outcome.detail.or(says_more.then_some(why));
                Content::Origin(body)
            }
        }
    } else {
        Content::Origin(body)
    };
    pass_on(worker, ask, head, content, &outcome)
}

fn with_status(handled: Handled, status: StatusCode, stored: bool) -> Handled {
    match handled {
        Handled::Forwarded { why, collapsed, .. } => Handled::Forwarded {
            why,
            status: Some(status.as_u16()),
            stored,
            collapsed,
        },
        other => other,
    }
}

/// The answer goes back as it came, its end-to-end part.
fn pass_on(
    worker: &Rc<Worker>,
    ask: &Ask,
    head: response::Parts,
    content: Content,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let response::Parts {
        status,
        version,
        headers: mut fields,
        ..
    } = head;
    let is_page = esi::is_raw_page(ask, status, &fields);
    fields::remove_hop_by_hop(&mut fields);
    admit::complete(ask, version, &mut fields, receive::now);
    if status == StatusCode::NOT_MODIFIED
        && let Some(tag) = coding::held_of(ask, &fields)
    {
        fields.insert(header::ETAG, tag);
        rules::coding::vary_by_coding(&mut fields);
    }
    let content = if is_page {
        esi::raw(worker, ask, status, &mut fields, content).content
    } else {
        content
    };
    let content = coding::passed(worker, ask, status, &mut fields, content);
    deliver::finish(
        worker,
        ask,
        status,
        fields,
        content,
        outcome,
        Duration::ZERO,
    )
}

/// `Max-Forwards` where it counts (RFC 9110 section 7.6.2).
fn forwards_left(ask: &Ask) -> Option<u64> {
    let counts = ask.method == Method::OPTIONS || ask.method == Method::TRACE;
    let left = ask.fields.get(&MAX_FORWARDS).filter(|_| counts)?;
    left.to_str().ok()?.trim().parse().ok()
}

/// Whether we are whom the request is meant for.
fn ends_here(ask: &Ask) -> bool {
    forwards_left(ask) == Some(0)
}

fn request_body(ask: &Ask, content: RequestBody) -> Result<origin::RequestBody, Failure> {
    if content.is_end_stream() {
        return Ok(Empty::<Bytes>::new()
            .map_err(|never| match never {})
            .boxed_unsync());
    }
    let Some(most) = ask.site.largest_request_body else {
        return Ok(content.map_err(Into::into).boxed_unsync());
    };
    if content.size_hint().lower() > most {
        return Err(Failure::BodyTooLarge);
    }
    Ok(Limited::new(content, usize::try_from(most).unwrap_or(usize::MAX)).boxed_unsync())
}

/// What an origin takes of memory for content that it cannot pass on as it comes.
fn room(worker: &Worker) -> origin::Room {
    let memory = worker.cache.memory.clone();
    let mut held = memory.budget().reservation();
    Box::new(move |bytes| {
        let fits = held.grow(bytes);
        memory.make_room();
        fits
    })
}

/// Whether the request's content turned out longer than the site allows while it was sent on.
fn outgrew_limit(error: &origin::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// 101: from here on bytes pass both ways untouched.
fn switch(
    worker: &Worker,
    ask: &Ask,
    mut response: Response<ResponseBody>,
    client: Option<Upgrade>,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let Some(client) = client else {
        return deliver::failure(worker, ask, &Failure::UnaskedSwitch);
    };
    let origin = hyper::upgrade::on(&mut response);
    let patience = ask.connection.idle_time;
    tokio::task::spawn_local(async move {
        if let (Ok(client), Ok(origin)) = tokio::join!(client.client, origin) {
            let (client, origin) = (TokioIo::new(client), TokioIo::new(origin));
            tunnel::pass(client, origin, patience).await;
        }
    });
    let (head, _) = response.into_parts();
    let mut fields = head.headers;
    let wish = fields.get(header::UPGRADE).cloned();
    fields::remove_hop_by_hop(&mut fields);
    if let Some(wish) = wish {
        fields.insert(header::UPGRADE, wish);
        fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    deliver::finish(
        worker,
        ask,
        head.status,
        fields,
        Content::Empty,
        outcome,
        Duration::ZERO,
    )
}

/// What becomes of the answer to a POST.
#[allow(
    clippy::large_enum_variant,
    reason = "taken apart where it is made: a box would be one more allocation a request"
)]
enum Post {
    /// It is stored on its way to the client, as the answer to a later GET.
    Stored(Content),
    Passed(ResponseBody, Detail),
}

/// RFC 9110 section 9.3.3: storable with explicit freshness and a `Content-Location` that is the target. Its success has
/// just invalidated the target, so the ticket is drawn anew; the caller has made sure that nobody else did.
fn store_post(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    head: &response::Parts,
    body: ResponseBody,
    times: Times,
) -> Post {
    let storable = match admit::judge(ask, &Method::POST, times, head.status, &head.headers) {
        Ok(storable) => storable,
        Err(why) => return Post::Passed(body, Detail::NotStored(why)),
    };
    let length = body.size_hint().exact();
    let room = Room::of(worker, ask);
    let ticket = worker.cache.memory.begin();
    let (fill, mut writer) = begin_fill(worker);
    if !room.admits(worker, ask, length, &mut writer) {
        return Post::Passed(body, Detail::Unkept(Unkept::TooLarge));
    }
    let Some(reader) = fill.reader() else {
        return Post::Passed(body, Detail::Unkept(Unkept::Invalidated));
    };
    let mut head = fetch::clone_head(head);
    head.status = StatusCode::OK;
    let ask = ask.clone();
    let destination = Destination::Then(Box::new(move |worker, body| {
        let (stored, _) =
            admit::new_stored(worker, &ask, ticket, &head, storable, body, times.response);
        let most = ask.site.most_variants;
        let _ = worker
            .cache
            .memory
            .insert(ask.key.as_bytes(), ticket, Arc::new(stored), most);
    }));
    let pump = Pump::new(worker, Arrival::new(body), writer, destination, room);
    tokio::task::spawn_local(pump.run());
    Post::Stored(Content::following(reader, length))
}
