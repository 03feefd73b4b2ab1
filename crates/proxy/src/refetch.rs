//! Refetch: what soft purges have made stale and is asked for often is fetched again before anybody asks.

use crate::{
    cache::Worker,
    listen::{Connection, InterimSink, RequestBody, RequestHead},
    walk::{
        self, deliver,
        receive::{self, Beside},
        user_context::HASH,
    },
};
use http::{Request, Uri, header, uri::Scheme};
use http_body_util::BodyExt;
use rules::vary;
use std::{rc::Rc, time::Duration};
use store::Busy;
use tokio::{
    sync::mpsc::Receiver,
    time::{sleep, timeout},
};

/// What is fetched again has so long to come as a whole.
const LONGEST: Duration = Duration::from_mins(1);

/// Fetches what comes, one after another, no faster than the site allows. Ends when nothing can come any more.
pub async fn refetch(worker: Rc<Worker>, mut busiest: Receiver<Vec<Busy>>) {
    while let Some(batch) = busiest.recv().await {
        for busy in batch {
            let Some(refetch) = worker.site().refetch else {
                break;
            };
            if let Some(request) = request(&busy) {
                // What takes longer holds up the rest no more: its fill goes on where somebody else reads it.
                let _ = timeout(LONGEST, walk_through(&worker, request)).await;
            }
            sleep(Duration::from_secs(1) / refetch.rate.max(1)).await;
        }
    }
}

/// The request that a client would make for it. `None` where that client was somebody in particular: nobody's credentials are
/// used again.
fn request(busy: &Busy) -> Option<Request<RequestBody>> {
    let mut request = Request::get(&busy.url).body(RequestBody::none()).ok()?;
    if let Some(variant) = &busy.variant {
        let personal = [header::COOKIE, header::AUTHORIZATION, HASH];
        if variant.nominated.iter().any(|name| personal.contains(name)) {
            return None;
        }
        *request.headers_mut() = vary::request_fields(&variant.key);
    }
    Some(request)
}

/// A client's connection, over TLS or not.
fn connection(tls: bool) -> Rc<Connection> {
    Rc::new(Connection::imagined(None, tls))
}

/// Whether clients must ask for it over TLS. The key does not tell where it holds no scheme.
fn wants_tls(worker: &Worker, request: &Request<RequestBody>) -> bool {
    if request.uri().scheme_str() == Some("https") {
        return true;
    }
    let mut plain = Request::new(());
    *plain.uri_mut() = request.uri().clone();
    *plain.headers_mut() = request.headers().clone();
    let asked = receive::read(
        worker.site(),
        &mut RequestHead::from(plain.into_parts().0),
        &connection(false),
        InterimSink::deaf(),
        Beside::default(),
        receive::now(),
    );
    asked.is_ok_and(|ask| receive::is_redirected(&ask))
}

/// The same target as it is asked for over TLS.
fn over_tls(uri: &Uri) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    Uri::from_parts(parts).ok()
}

async fn walk_through(worker: &Rc<Worker>, mut request: Request<RequestBody>) {
    let tls = wants_tls(worker, &request);
    if tls && let Some(uri) = over_tls(request.uri()) {
        *request.uri_mut() = uri;
    }
    let connection = connection(tls);
    let answer = walk::walk(worker, request, &connection, InterimSink::deaf());
    let response = answer.response().await;
    if !deliver::reads_fill(&response) {
        // Nothing more comes into the store. What passes by may have no end.
        return;
    }
    let mut body = response.into_body();
    // What breaks off is not stored: there is nothing to do about it here.
    while let Some(Ok(_)) = body.frame().await {}
}
