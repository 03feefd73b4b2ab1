//! Between `hyper` and the walk: each request is counted, checked, served, and a panic in it ends it alone.

use super::{
    Connection, InterimSink, RequestBody, Serve, Served,
    answer::AnswerBody,
    check::{behind_head, check, check_framing},
    config::Limits,
    direct::Desk,
    fault::Fault,
    http2::{self, Taking},
    in_flight::InFlight,
    own::{self, Refusal},
    watch::Watch,
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::Either;
use hyper::{
    body::{Body as _, Incoming},
    ext::ReasonPhrase,
};
use std::{
    cell::Cell,
    convert::Infallible,
    future::poll_fn,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::{Arc, PoisonError},
    task::Poll,
};

/// What the requests of one connection share.
pub(super) struct Session<S: Serve> {
    pub(super) service: Rc<S>,
    pub(super) facts: Rc<Connection>,
    pub(super) watch: Arc<Watch>,
    pub(super) limits: Arc<Limits>,
    pub(super) redirect_https: Option<u16>,
    /// What was begun for the request that `hyper` reads next.
    pub(super) begun: Cell<Option<Begun<S::Body>>>,
    /// Whether what `hyper` answers came over HTTP/1.0, whose answers may end where the connection does.
    pub(super) is_old: Cell<bool>,
    pub(super) desk: Rc<Desk>,
    /// Over HTTP/2.
    pub(super) taking: Option<Rc<Taking>>,
}

/// A request that the service has been asked to answer, or was kept from: then the answer is ours.
pub(super) struct Begun<B> {
    pub(super) served: Result<Served<B>, Box<Response<Bytes>>>,
    pub(super) in_flight: InFlight,
}

/// Answers one request that `hyper` has read.
pub(super) fn answer<S: Serve>(
    session: &Session<S>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<AnswerBody<S::Body>>, Infallible>> + use<S> {
    session.is_old.set(request.version() < Version::HTTP_11);
    let begun = session.begun.take();
    if begun.is_some() {
        take_head(&session.watch, false);
    }
    let fields = request.headers();
    let may_upgrade = begun.is_none() && fields.contains_key(header::UPGRADE);
    if may_upgrade {
        session.watch.keep();
    }
    let begun = begun.unwrap_or_else(|| begin_read(session, request));
    let Begun { served, in_flight } = begun;
    let answered = match served {
        Ok(Served::Now(response)) => Either::Left(Ok(response)),
        Ok(Served::Prepared(prepared)) => Either::Left(Ok(prepared.response())),
        Ok(Served::Later(response)) => {
            Either::Right((unpanicked(response), Rc::clone(&session.service)))
        }
        Err(own) => Either::Left(Err(own)),
    };
    async move {
        let served = match answered {
            Either::Left(served) => served,
            Either::Right((waited, service)) => {
                let waited = waited.await;
                waited.map_err(|Panicked| own::panicked(&*service, &in_flight.watch))
            }
        };
        Ok(finished(served, in_flight, may_upgrade))
    }
}

/// Has the service begin with a request that `hyper` has read.
fn begin_read<S: Serve>(session: &Session<S>, request: Request<Incoming>) -> Begun<S::Body> {
    let watch = &session.watch;
    let brings_content = !request.body().is_end_stream();
    let raw = take_head(watch, brings_content);
    let most = session.limits.held_content(request.version());
    let may_expect = brings_content && request.version() == Version::HTTP_11;
    watch.hold_back(may_expect && request.headers().contains_key(header::EXPECT));
    let request = request.map(|body| {
        if brings_content {
            RequestBody::watched(body, Arc::clone(watch), most)
        } else {
            RequestBody::none()
        }
    });
    let (room, full) = match http2::room(watch, &request) {
        Ok(room) => (room, Ok(())),
        Err(full) => (None, Err(full)),
    };
    let mut begun = begin(session, request, |request| {
        check(request, &session.limits)?;
        if brings_content {
            check_framing(request.headers(), &raw)?;
        }
        full
    });
    begun.in_flight.hold(room);
    begun
}

/// The answer, for `hyper` to write.
fn finished<B: http_body::Body<Data = Bytes>>(
    served: Result<Response<B>, Box<Response<Bytes>>>,
    in_flight: InFlight,
    may_upgrade: bool,
) -> Response<AnswerBody<B>> {
    let watch = Arc::clone(&in_flight.watch);
    watch.outbox.close();
    let is_http1 = !in_flight.is_one_of_many();
    let mut answer = match served {
        Ok(response) => response.map(|body| AnswerBody::served(body, in_flight)),
        Err(own) => own.map(|text| AnswerBody::own(text, in_flight)),
    };
    if answer.status().canonical_reason().is_none() {
        // `hyper` makes one up.
        let none = ReasonPhrase::from_static(b"");
        answer.extensions_mut().insert(none);
    }
    let upgrades = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    if may_upgrade && !upgrades {
        watch.let_go();
    }
    if is_http1 && !upgrades && watch.ends_with_answer() {
        // What follows the content that nobody reads is not found, and whether it comes after a refusal is not known.
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(header::CONNECTION, close);
    }
    answer
}

/// Has the service begin with a request, unless that is refused. `check` judges it, and puts in what it brings.
pub(super) fn begin<S: Serve>(
    session: &Session<S>,
    mut request: Request<RequestBody>,
    check: impl FnOnce(&mut Request<RequestBody>) -> Result<(), Fault>,
) -> Begun<S::Body> {
    let watch = &session.watch;
    let http1 = request.version() != Version::HTTP_2;
    let in_flight = InFlight::new(session);
    if http1 {
        watch.outbox.open();
    }
    let sink = if request.version() == Version::HTTP_11 {
        InterimSink::new(watch)
    } else {
        InterimSink::deaf()
    };
    let refusal = match check(&mut request) {
        Err(fault) => Some(fault.into()),
        Ok(()) => session.redirect_https.map(Refusal::Redirect),
    };
    let served = match refusal {
        None => {
            // Taken there, so that it is not moved into the closure, and with that on and on.
            let mut asked = Some(request);
            let serve = || {
                let request = asked.take()?;
                Some(session.service.serve(request, &session.facts, sink))
            };
            match catch_unwind(AssertUnwindSafe(serve)) {
                Ok(Some(served)) => Ok(served),
                Ok(None) | Err(_) => Err(own::panicked(&*session.service, watch)),
            }
        }
        Some(refusal) => {
            let (head, _) = request.into_parts();
            let request = (&head, &*session.facts);
            Err(own::refuse(&*session.service, watch, refusal, request))
        }
    };
    Begun { served, in_flight }
}

/// The service panicked.
pub(super) struct Panicked;

/// Runs `future`; a panic in it ends here.
pub(super) async fn unpanicked<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(Panicked)),
        },
    )
    .await
}

/// Takes the raw head of a request, so that one that came in the same read finds its own, or none, rather than that of another. Behind
/// content, heads begin nobody knows where.
fn take_head(watch: &Watch, brings_content: bool) -> Vec<u8> {
    let mut came = watch.head.lock().unwrap_or_else(PoisonError::into_inner);
    let raw = mem::take(&mut *came);
    if !brings_content {
        *came = behind_head(&raw).to_vec();
    }
    raw
}
