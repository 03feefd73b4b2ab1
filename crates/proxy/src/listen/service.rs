//! Between the protocols and the walk: counts, checks and serves each request. A panic in one ends that request only.

use super::{
    Connection, InterimSink, RequestBody, Serve, Served,
    config::Limits,
    direct::Desk,
    fault::Fault,
    in_flight::InFlight,
    own::{self, Refusal},
    request_head::RequestHead,
    watch::Watch,
};
use bytes::Bytes;
use http::{Method, Request, Response};
use std::{
    cell::Cell,
    future::poll_fn,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::Poll,
};

/// What the requests of one connection share.
pub(super) struct Session<S: Serve> {
    pub(super) service: Rc<S>,
    pub(super) connection: Rc<Connection>,
    pub(super) watch: Arc<Watch>,
    pub(super) limits: Arc<Limits>,
    pub(super) redirect_https: Option<u16>,
    /// Whether the first answer is the last of the connection (HTTP/1).
    pub(super) is_for_one: bool,
    /// What was begun for the request that `hyper` reads next.
    pub(super) begun: Cell<Option<Begun<S::Body>>>,
    /// Whether the request that `hyper` answers came over HTTP/1.0, where an answer may end with the connection.
    pub(super) is_old: Cell<bool>,
    pub(super) desk: Rc<Desk>,
}

/// A request that the service was asked to answer, or that we answer because it must not reach the service.
pub(super) struct Begun<B> {
    pub(super) served: ServedOr<B>,
    pub(super) in_flight: InFlight,
}

/// The service's answer, or ours in its place.
pub(super) type ServedOr<B> = Result<Served<B>, Box<Response<Bytes>>>;

/// Makes the service begin a request, unless it is refused. `check` judges the request, and completes it with its
/// content.
pub(super) fn begin<S: Serve>(
    session: &Session<S>,
    mut request: Request<RequestBody>,
    interim: InterimSink,
    check: impl FnOnce(&mut Request<RequestBody>) -> Result<(), Fault>,
) -> Begun<S::Body> {
    let in_flight = InFlight::new(&session.watch);
    let checked = check(&mut request);
    let served = match refusal(session, request.method(), checked) {
        None => unless_it_panics(session, |service, connection| {
            service.serve(request, connection, interim)
        }),
        Some(refusal) => Err(refuse(session, refusal, request)),
    };
    Begun { served, in_flight }
}

/// As [`begin`], for a request that is only a head; `checked` is the result of its checks.
pub(super) fn begin_head<S: Serve>(
    session: &Session<S>,
    head: &mut RequestHead,
    interim: InterimSink,
    checked: Result<(), Fault>,
) -> ServedOr<S::Body> {
    match refusal(session, &head.method, checked) {
        None => unless_it_panics(session, |service, connection| {
            service.serve_head(head, connection, interim)
        }),
        Some(refusal) => Err(refuse(session, refusal, mem::take(head).into_request())),
    }
}

/// Why the request must not reach the service; `None` if it may.
fn refusal<S: Serve>(
    session: &Session<S>,
    method: &Method,
    checked: Result<(), Fault>,
) -> Option<Refusal> {
    match (checked, session.redirect_https) {
        (Err(fault), _) => Some(fault.into()),
        (Ok(()), Some(_)) if session.service.keeps(method) => None,
        // It names no page that HTTPS could serve: the service refuses it.
        (Ok(()), Some(_)) if *method == Method::CONNECT => None,
        (Ok(()), port) => port.map(Refusal::Redirect),
    }
}

#[cold]
fn refuse<S: Serve>(
    session: &Session<S>,
    refusal: Refusal,
    request: Request<RequestBody>,
) -> Box<Response<Bytes>> {
    let (head, _) = request.into_parts();
    let request = (&head, &*session.connection);
    own::refuse(&*session.service, &session.watch, refusal, request)
}

fn unless_it_panics<S: Serve>(
    session: &Session<S>,
    serve: impl FnOnce(&S, &Rc<Connection>) -> Served<S::Body>,
) -> ServedOr<S::Body> {
    let serve = AssertUnwindSafe(|| serve(&session.service, &session.connection));
    catch_unwind(serve).map_err(|_| own::panicked(&*session.service, &session.watch))
}

/// The service panicked.
pub(super) struct Panicked;

/// Runs `future` and catches a panic in it.
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
