//! Refetch: busy responses that soft purges have made stale are fetched again before a client asks.

use crate::{
    ask::Receipt,
    body::ReplyBody,
    cache::Worker,
    clock,
    listen::{Connection, InterimSink, RequestBody, RequestHead},
    user_group::HASH,
    walk::{self, deliver, receive},
};
use http::{Request, Uri, header, uri::Scheme};
use http_body_util::BodyExt;
use rules::vary;
use std::{rc::Rc, time::Duration};
use store::Busy;
use tokio::{
    sync::mpsc::Receiver,
    task::JoinSet,
    time::{sleep, timeout},
};

/// For how long to wait for a whole response before the next fetch.
const LONGEST: Duration = Duration::from_mins(1);

/// How many slower responses are read on during the next fetches. The bodies of others are dropped.
const MOST_SLOW: usize = 8;

/// Fetches what comes, one after another, no faster than the site allows. Ends when nothing more can come.
pub async fn refetch(worker: Rc<Worker>, mut busiest: Receiver<Vec<Busy>>) {
    let mut slow = JoinSet::new();
    while let Some(batch) = busiest.recv().await {
        for busy in batch {
            let Some(refetch) = worker.site().refetch else {
                break;
            };
            while slow.try_join_next().is_some() {}
            if let Some(request) = request(&busy)
                && let Some(body) = walk_through(&worker, request).await
            {
                let mut reading = Box::pin(read(body));
                if timeout(LONGEST, &mut reading).await.is_err() && slow.len() < MOST_SLOW {
                    // It must not delay the rest any longer.
                    slow.spawn_local(reading);
                }
            }
            sleep(Duration::from_secs(1) / refetch.rate.max(1)).await;
        }
    }
}

/// Returns the request that a client would make for it; `None` if that client had cookies or credentials, or a group:
/// nobody's are used again.
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

/// Returns an imagined client's connection, over TLS or not.
fn connection(tls: bool) -> Rc<Connection> {
    Rc::new(Connection::imagined(None, tls))
}

/// Whether clients must ask for it over TLS. A key without a scheme does not tell.
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
        Receipt::new(&connection(false), InterimSink::deaf()),
        clock::now(),
    );
    asked.is_ok_and(|ask| receive::is_redirected(&ask))
}

/// Returns the target with the scheme `https`.
fn over_tls(uri: &Uri) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    Uri::from_parts(parts).ok()
}

/// Sends the request through the walk. Returns the body that must be read to its end to be stored.
async fn walk_through(worker: &Rc<Worker>, mut request: Request<RequestBody>) -> Option<ReplyBody> {
    let tls = wants_tls(worker, &request);
    if tls && let Some(uri) = over_tls(request.uri()) {
        *request.uri_mut() = uri;
    }
    let connection = connection(tls);
    let answer = walk::walk(worker, request, &connection, InterimSink::deaf());
    let response = answer.response().await;
    // A body that is not stored may have no end.
    deliver::reads_fill(&response).then(|| response.into_body())
}

/// Reads the whole body. A body that breaks off is not stored, which needs no action here.
async fn read(mut body: ReplyBody) {
    while let Some(Ok(_)) = body.frame().await {}
}
