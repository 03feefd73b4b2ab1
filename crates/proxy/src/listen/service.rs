//! Between `hyper` and the walk: each request is counted, checked, served, and a panic in it ends it alone.

use super::{
    Connection, InterimSink, RequestBody, Serve, Served,
    answer::AnswerBody,
    check::{behind_head, check, check_framing},
    config::Limits,
    direct::Desk,
    fault::Fault,
    http2::Taking,
    own::{self, Refusal},
    watch::Watch,
};
use bytes::Bytes;
use http::{Request, Response, Version, header};
use http_body_util::Either;
use hyper::body::{Body as _, Incoming};
use std::{
    cell::Cell,
    convert::Infallible,
    future::poll_fn,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::{Arc, PoisonError},
    task::{Poll, Waker},
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

/// Counts a request as in flight; on drop no more.
#[derive(Debug)]
pub(super) struct InFlight {
    watch: Arc<Watch>,
    /// Where the request is one of many on its connection.
    stream: Option<Stream>,
    /// Whether the client is what the answer's body waits for, over HTTP/1.
    owed: bool,
}

/// A request over HTTP/2.
#[derive(Debug)]
struct Stream {
    /// The limit on cancelled ones.
    most_cancelled: u32,
    finished: bool,
    /// See [`Taking`].
    taking: Rc<Taking>,
}

impl InFlight {
    fn new<S: Serve>(session: &Session<S>) -> Self {
        let watch = &session.watch;
        watch.request_begins();
        Self {
            watch: Arc::clone(watch),
            stream: session.taking.as_ref().map(|taking| Stream {
                most_cancelled: session.limits.http2_resets,
                finished: false,
                taking: Rc::clone(taking),
            }),
            owed: false,
        }
    }

    /// Whether others share its connection.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.stream.is_some()
    }

    /// The answer is complete, as far as we go.
    pub(super) fn finish(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.finished = true;
        }
    }

    /// The answer's body gave a piece, the last one or not: the client is what it waits for from now on. Over HTTP/2 the stream ends
    /// where that takes too long, and whoever has `waker` with it.
    pub(super) fn gave(&mut self, waker: &Waker, is_last: bool) {
        match &self.stream {
            Some(stream) => {
                let pieces = &self.watch.pieces;
                let wait = pieces.begin(self.watch.worker.now(), Some(waker));
                stream.taking.set(Some(wait));
            }
            None => self.owe(!is_last),
        }
    }

    /// The client has taken what was given, or the answer has ended.
    pub(super) fn taken(&mut self) {
        match &self.stream {
            Some(stream) => {
                if let Some(wait) = stream.taking.take() {
                    self.watch.pieces.end(wait);
                }
            }
            None => self.owe(false),
        }
    }

    fn owe(&mut self, owed: bool) {
        if owed != self.owed {
            self.owed = owed;
            self.watch.owe_body(owed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.taken();
        self.watch.request_ends();
        if let Some(stream) = &self.stream {
            self.watch.tally(!stream.finished, stream.most_cancelled);
        }
    }
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
    let begun = begun.unwrap_or_else(|| {
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts, RequestBody::none());
        begin(session, request, |request| {
            check(request, &session.limits)?;
            *request.body_mut() = content(session, request, body)?;
            Ok(())
        })
    });
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
        in_flight.watch.outbox.close();
        Ok(match served {
            Ok(response) => response.map(|body| AnswerBody::served(body, in_flight)),
            Err(own) => own.map(|text| AnswerBody::own(text, in_flight)),
        })
    }
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
            let serve = || session.service.serve(request, &session.facts, sink);
            let served = catch_unwind(AssertUnwindSafe(serve));
            served.map_err(|_| own::panicked(&*session.service, watch))
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

/// What a request brings that `hyper` has read the head of.
fn content<S: Serve>(
    session: &Session<S>,
    request: &Request<RequestBody>,
    body: Incoming,
) -> Result<RequestBody, Fault> {
    let fields = request.headers();
    let watch = &session.watch;
    if !body.is_end_stream() || fields.contains_key(header::UPGRADE) {
        watch.keep();
    }
    let raw = take_head(watch, !body.is_end_stream());
    if body.is_end_stream() {
        return Ok(RequestBody::none());
    }
    check_framing(fields, &raw)?;
    let most = session.limits.held_content(request.version());
    Ok(RequestBody::watched(body, Arc::clone(watch), most))
}
