//! Between `hyper` and the walk: each request is counted, checked, served, and a panic in it ends it alone.

use super::{
    Connection, InterimSink, RequestBody, Serve,
    answer::AnswerBody,
    check::{check, check_framing},
    config::Limits,
    counters::add,
    fault::Fault,
    redirect,
    watch::Watch,
};
use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::{Body as _, Incoming};
use std::{
    convert::Infallible,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::{Arc, PoisonError},
    task::Poll,
};

/// What the requests of one connection share.
pub(super) struct Session<S> {
    pub(super) service: Rc<S>,
    pub(super) facts: Rc<Connection>,
    pub(super) watch: Arc<Watch>,
    pub(super) limits: Arc<Limits>,
    pub(super) redirect_https: Option<u16>,
}

/// Counts a request as in flight; on drop no more.
#[derive(Debug)]
pub(super) struct InFlight {
    watch: Arc<Watch>,
    /// Where the request is one of many on its connection: the limit on cancelled ones, and whether this one is finished.
    stream: Option<(u32, bool)>,
    /// Whether the client is what the answer's body waits for.
    owed: bool,
}

impl InFlight {
    fn new(watch: &Arc<Watch>, most_cancelled: Option<u32>) -> Self {
        watch.request_begins();
        Self {
            watch: Arc::clone(watch),
            stream: most_cancelled.map(|most| (most, false)),
            owed: false,
        }
    }

    /// The answer is complete, as far as we go.
    pub(super) fn finish(&mut self) {
        if let Some((_, finished)) = &mut self.stream {
            *finished = true;
        }
    }

    /// Whether the client, and not the service, keeps the answer's body waiting.
    pub(super) fn owe(&mut self, owed: bool) {
        if owed != self.owed {
            self.owed = owed;
            self.watch.owe_body(owed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.owe(false);
        self.watch.request_ends();
        if let Some((most, finished)) = self.stream {
            self.watch.tally(!finished, most);
        }
    }
}

/// Answers one request.
pub(super) fn answer<S: Serve>(
    session: &Session<S>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<AnswerBody<S::Body>>, Infallible>> + use<S> {
    let watch = &session.watch;
    let version = request.version();
    let http1 = version != Version::HTTP_2;
    let in_flight = InFlight::new(watch, (!http1).then_some(session.limits.http2_resets));
    if http1 {
        watch.outbox.open();
    }
    let sink = if version == Version::HTTP_11 {
        InterimSink::new(watch)
    } else {
        InterimSink::deaf()
    };
    let checked = examine(session, request);
    let (service, facts) = (Rc::clone(&session.service), Rc::clone(&session.facts));
    async move {
        let served = match checked {
            Ok(request) => unpanicked(|| service.serve(request, &facts, sink)).await,
            Err(refusal) => Err(refusal),
        };
        in_flight.watch.outbox.close();
        Ok(match served {
            Ok(response) => response.map(|body| AnswerBody::served(body, in_flight)),
            Err(refusal) => {
                let response = refusal.response(&in_flight.watch, http1);
                response.map(|text| AnswerBody::own(text, in_flight))
            }
        })
    }
}

/// Why the service is not asked, or gave no answer.
enum Refusal {
    Fault(Fault),
    Redirect(Box<Response<Bytes>>),
}

impl Refusal {
    fn response(self, watch: &Watch, http1: bool) -> Response<Bytes> {
        let fault = match self {
            Self::Redirect(response) => return *response,
            Self::Fault(fault) => fault,
        };
        let counters = &watch.worker.counters;
        if fault == Fault::Panicked {
            add(&counters.panics, 1);
            tracing::error!("a request ended in a panic; it was answered with 500");
        } else {
            add(&counters.protocol_errors, 1);
        }
        fault.response(http1)
    }
}

/// Runs what `make` makes; a panic in either ends here.
async fn unpanicked<F: Future>(make: impl FnOnce() -> F) -> Result<F::Output, Refusal> {
    let panicked = || Refusal::Fault(Fault::Panicked);
    let future = catch_unwind(AssertUnwindSafe(make)).map_err(|_| panicked())?;
    let mut future = pin!(future);
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(panicked())),
        },
    )
    .await
}

/// The request as the service gets it, unless it is refused.
fn examine<S>(
    session: &Session<S>,
    request: Request<Incoming>,
) -> Result<Request<RequestBody>, Refusal> {
    let (parts, body) = request.into_parts();
    check(&parts, &session.limits).map_err(Refusal::Fault)?;
    let body = if body.is_end_stream() {
        RequestBody::empty(body)
    } else {
        let head = &session.watch.head;
        let raw = head.lock().unwrap_or_else(PoisonError::into_inner);
        check_framing(&parts.headers, &raw).map_err(Refusal::Fault)?;
        RequestBody::watched(body, Arc::clone(&session.watch))
    };
    match session.redirect_https {
        Some(port) => Err(Refusal::Redirect(Box::new(redirect::to_https(
            &parts, port,
        )))),
        None => Ok(Request::from_parts(parts, body)),
    }
}
