//! Between the protocols and the walk: each request is counted, checked, served, and a panic in it ends it alone.

use super::{
    Connection, InterimSink, RequestBody, Serve, Served,
    config::Limits,
    direct::Desk,
    fault::Fault,
    in_flight::InFlight,
    own::{self, Refusal},
    watch::Watch,
};
use bytes::Bytes;
use http::{Request, Response};
use std::{
    cell::Cell,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::Arc,
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
}

/// A request that the service has been asked to answer, or was kept from: then the answer is ours.
pub(super) struct Begun<B> {
    pub(super) served: Result<Served<B>, Box<Response<Bytes>>>,
    pub(super) in_flight: InFlight,
}

/// Has the service begin with a request, unless that is refused. `check` judges it, and puts in what it brings.
pub(super) fn begin<S: Serve>(
    session: &Session<S>,
    mut request: Request<RequestBody>,
    interim: InterimSink,
    check: impl FnOnce(&mut Request<RequestBody>) -> Result<(), Fault>,
) -> Begun<S::Body> {
    let watch = &session.watch;
    let in_flight = InFlight::new(watch);
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
                Some(session.service.serve(request, &session.facts, interim))
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
