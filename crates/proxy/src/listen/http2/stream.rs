//! One request over HTTP/2, and its answer.

use super::{
    super::{
        AtHand, InterimSink, Later, RequestBody, Serve, Served,
        check::check,
        date, own,
        service::{Begun, Panicked, Session, begin as begin_request, unpanicked},
    },
    head,
    reply::Reply,
    sending::{Counted, Sending},
};
use bytes::Bytes;
use h2::{Reason, RecvStream, server::SendResponse};
use http::{HeaderMap, Method, Request, Response, header};
use http_body::Body;
use http_body_util::{Either, Full};
use origin::http2::Gathering;
use std::{
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

/// Answers a request. What is available, as most answers are, is sent as far as the client takes it; a task sends the
/// rest. `cx` is the connection's.
pub(super) fn begin<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    (request, respond): (Request<RecvStream>, SendResponse<Bytes>),
    gathering: &Gathering,
) {
    let is_head = request.method() == Method::HEAD;
    let reply = Arc::new(Reply::new(respond));
    let (served, counted) = ask(cx, session, (request, gathering), &reply);
    let answer = match served {
        Ok(Served::Now(response)) => response.map(Either::Left),
        Ok(Served::Prepared(prepared)) => prepared.response().map(Either::Left),
        Ok(Served::Later(later)) => {
            let service = Rc::clone(&session.service);
            let waiting = wait(service, (later, is_head), reply, counted);
            tokio::task::spawn_local(Box::pin(waiting));
            return;
        }
        Err(own) => our_words(*own, is_head),
    };
    // As long as the client takes what is written, one head is on its way before the next is made.
    let waits = session.watch.is_blocked();
    let Some(mut sending) = send_head(answer, &reply, (counted, waits)) else {
        return;
    };
    if Pin::new(&mut sending).poll(cx).is_pending() {
        tokio::task::spawn_local(sending);
    }
}

type ServedOn<S> = Result<Served<<S as Serve>::Body>, Box<Response<Bytes>>>;

/// Makes the service begin the request.
fn ask<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    (request, gathering): (Request<RecvStream>, &Gathering),
    reply: &Arc<Reply>,
) -> (ServedOn<S>, Counted) {
    let watch = &session.watch;
    let brings_content = !request.body().is_end_stream() && request.method() != Method::CONNECT;
    let request = if brings_content {
        let (head, stream) = request.into_parts();
        let content = gathering.inlet(stream);
        let watch = Arc::clone(watch);
        let body = RequestBody::http2((&head, content), watch, &session.limits, reply);
        let body = body.or_none(cx);
        Request::from_parts(head, body)
    } else {
        request.map(|_| RequestBody::none())
    };
    let (room, full) = match head::room(watch, &request) {
        Ok(room) => (room, Ok(())),
        Err(full) => (None, Err(full)),
    };
    let interim = InterimSink::http2(reply);
    let Begun { served, in_flight } = begin_request(session, request, interim, |request| {
        check(request, &session.limits)?;
        full
    });
    let counted = Counted::new(in_flight, session.limits.http2_resets, room);
    (served, counted)
}

/// Makes an answer of our own. An answer to `HEAD` has no content (RFC 9110 section 9.3.2).
fn our_words<B>(own: Response<Bytes>, is_head: bool) -> Response<Either<B, Full<Bytes>>> {
    let kept = |text| if is_head { Bytes::new() } else { text };
    own.map(|text| Either::Right(Full::new(kept(text))))
}

/// Waits for the answer, and sends it. Both end if the client cancels the stream.
async fn wait<S: Serve>(
    service: Rc<S>,
    (later, is_head): (Later<S::Body>, bool),
    reply: Arc<Reply>,
    counted: Counted,
) {
    let mut answering = std::pin::pin!(unpanicked(later));
    let answered = poll_fn(|cx| match answering.as_mut().poll(cx) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => reply.poll_left(cx).map(|()| None),
    });
    let answer = match answered.await {
        Some(Ok(response)) => response.map(Either::Left),
        Some(Err(Panicked)) => our_words(*own::panicked(&*service, counted.watch()), is_head),
        None => {
            // Nothing more is to be sent, even if some code still has interim responses.
            reply.take();
            return;
        }
    };
    // Many may have waited for one event.
    if let Some(sending) = send_head(answer, &reply, (counted, true)) {
        sending.await;
    }
}

/// Sends the head, which may have to wait for the client together with many others. Returns what is to follow it; `None`
/// if everything is sent, the client has left, or there is no room for the head until the client takes it.
fn send_head<B: Body<Data = Bytes> + AtHand + Unpin>(
    answer: Response<B>,
    reply: &Reply,
    (mut counted, may_wait): (Counted, bool),
) -> Option<Sending<B>> {
    let mut respond = reply.take()?;
    let (mut head, body) = answer.into_parts();
    let is_all = body.is_end_stream();
    let length = body.size_hint().exact().filter(|_| !is_all);
    complete(&mut head.headers, length);
    if may_wait && head::count(counted.watch(), &mut head.headers).is_err() {
        counted.finish();
        respond.send_reset(Reason::ENHANCE_YOUR_CALM);
        return None;
    }
    if is_all {
        counted.finish();
    }
    let out = respond.send_response(Response::from_parts(head, ()), is_all);
    let out = out.ok().filter(|_| !is_all)?;
    Some(Sending::new(body, out, counted))
}

/// Adds what every answer has (RFC 9110 sections 6.6.1 and 8.6), and removes what HTTP/2 does not allow (RFC 9113
/// section 8.2.2).
fn complete(fields: &mut HeaderMap, length: Option<u64>) {
    rules::fields::remove_connection_specific(fields);
    date::complete(fields);
    if let (Some(length), false) = (length, fields.contains_key(header::CONTENT_LENGTH)) {
        fields.insert(header::CONTENT_LENGTH, length.into());
    }
}
