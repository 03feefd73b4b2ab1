//! Refetch: what soft purges have made stale and is asked for often is fetched again before anybody asks.

use crate::{
    body::ReplyBody,
    cache::Worker,
    clock,
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
    task::JoinSet,
    time::{sleep, timeout},
};

/// What is fetched again is waited for so long, to come as a whole, before the next is asked for.
const LONGEST: Duration = Duration::from_mins(1);

/// So many that take longer are read on beside the next; the body of any more is let go.
const MOST_SLOW: usize = 8;

/// Fetches what comes, one after another, no faster than the site allows. Ends when nothing can come any more.
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
                    // It holds up the rest no more.
                    slow.spawn_local(reading);
                }
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
        clock::now(),
    );
    asked.is_ok_and(|ask| receive::is_redirected(&ask))
}

/// The same target as it is asked for over TLS.
fn over_tls(uri: &Uri) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    Uri::from_parts(parts).ok()
}

/// Asks for it. Gives what is still to be read, so that all of it comes into the store.
async fn walk_through(worker: &Rc<Worker>, mut request: Request<RequestBody>) -> Option<ReplyBody> {
    let tls = wants_tls(worker, &request);
    if tls && let Some(uri) = over_tls(request.uri()) {
        *request.uri_mut() = uri;
    }
    let connection = connection(tls);
    let answer = walk::walk(worker, request, &connection, InterimSink::deaf());
    let response = answer.response().await;
    // What does not come into the store may have no end.
    deliver::reads_fill(&response).then(|| response.into_body())
}

/// Reads all of it. What breaks off is not stored: there is nothing to do about it here.
async fn read(mut body: ReplyBody) {
    while let Some(Ok(_)) = body.frame().await {}
}
