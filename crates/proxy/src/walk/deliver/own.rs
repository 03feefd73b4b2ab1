//! Answers of our own: errors, redirects, and which methods are allowed.

use super::{assemble, finish};
use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    error::{BadHost, BadRequest, Failure},
    listen::{Connection, RequestHead},
    outcome::Outcome,
    routing::{self, Subject},
    walk::report,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use rules::fields::{gives_lifetime, remove_where};

/// Answers with an error of our own. The request has a route.
pub fn failure(worker: &Worker, ask: &Ask, failure: &Failure) -> Response<ReplyBody> {
    let outcome = Outcome::failed(failure.clone());
    failed_forward(worker, ask, failure, &outcome)
}

/// Like [`failure`], after an origin was asked.
pub fn failed_forward(
    worker: &Worker,
    ask: &Ask,
    failure: &Failure,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let (status, mut fields, content) = error_page(failure);
    if matches!(failure, Failure::Denied(StatusCode::METHOD_NOT_ALLOWED)) {
        fields.insert(header::ALLOW, unrefused(ask));
    }
    let content = content_for(&ask.method, content);
    let mut response = finish(worker, ask, status, fields, content, outcome);
    if !matches!(failure, Failure::Denied(_)) {
        unkept(ask, response.headers_mut());
    }
    response
}

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Takes from an error of our own what a site may set for every answer of a route, and what is about pages: nobody is to
/// keep an outage for as long.
fn unkept(ask: &Ask, fields: &mut HeaderMap) {
    fields.insert(header::CACHE_CONTROL, NO_STORE);
    remove_where(fields, |name| {
        let is_validator = matches!(*name, header::ETAG | header::LAST_MODIFIED);
        is_validator || gives_lifetime(name) || ask.site.targets.contains(name)
    });
}

/// Answers with an error of our own. The request was not understood. `asked` is its head as it came, and its
/// connection; `None` for an include.
pub fn refusal(
    worker: &Worker,
    asked: Option<(&RequestHead, &Connection)>,
    failure: &Failure,
) -> Response<ReplyBody> {
    let (status, mut fields, content) = error_page(failure);
    let outcome = Outcome::failed(failure.clone());
    report::fields(worker, &mut fields, &worker.site(), status, &outcome, None);
    worker.counters.count(&outcome, status);
    let content = match asked {
        Some((head, _)) => content_for(&head.method, content),
        None => content,
    };
    let mut response = assemble(status, fields, content);
    if let Some(asked) = asked {
        report::refused(worker, asked, (status, &outcome), response.body_mut());
    }
    response
}

/// Answers a request that was to go no further than here (RFC 9110 section 7.6.2): an `OPTIONS` with the allowed
/// methods (section 9.3.7). `TRACE` is not offered.
pub fn ended(worker: &Worker, ask: &Ask) -> Response<ReplyBody> {
    if ask.method != Method::OPTIONS {
        return failure(worker, ask, &Failure::MethodNotAllowed);
    }
    let mut fields = HeaderMap::new();
    fields.insert(header::ALLOW, ALLOWED);
    finish(
        worker,
        ask,
        StatusCode::NO_CONTENT,
        fields,
        Content::Empty,
        &Outcome::OWN,
    )
}

/// The best known of the methods that are passed on. Those are all but `CONNECT`.
const ALLOWED: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");

/// Returns the methods with which the site does not refuse the request's target (RFC 9110 section 15.5.6); perhaps
/// none.
fn unrefused(ask: &Ask) -> HeaderValue {
    let (path, query) = ask.target.normal();
    let subject = Subject {
        host: routing::without_port(ask.host()),
        path: &path,
        query: query.as_deref(),
        method: &ask.method,
        fields: &ask.fields,
        client: ask.client(),
    };
    let methods = routing::unrefused(&ask.site.routes, &subject);
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    HeaderValue::try_from(names.join(", ")).unwrap_or(HeaderValue::from_static(""))
}

/// Sends the client to the same URI over HTTPS. 308 keeps method and content where 301 would lose them. A request by
/// HTTP/1.0 that names no host is refused: there is nowhere to send it.
pub fn redirect_https(worker: &Worker, ask: &Ask) -> Response<ReplyBody> {
    if ask.host().is_empty() {
        return failure(
            worker,
            ask,
            &Failure::BadRequest(BadRequest::Host(BadHost::Missing)),
        );
    }
    let is_kept = ask.method == Method::GET || ask.method == Method::HEAD;
    let status = if is_kept {
        StatusCode::MOVED_PERMANENTLY
    } else {
        StatusCode::PERMANENT_REDIRECT
    };
    let host = routing::without_port(ask.host());
    let mut fields = HeaderMap::new();
    // As it came: query parameters that are not keyed still belong to the application.
    let target = ask.target.origin_form().unwrap_or("/".into());
    // A request about the server as a whole has no path.
    let target = if target == "*" { "/".into() } else { target };
    if let Ok(location) = HeaderValue::try_from(format!("https://{host}{target}")) {
        fields.insert(header::LOCATION, location);
    }
    let mut answer = finish(worker, ask, status, fields, Content::Empty, &Outcome::OWN);
    // RFC 6797 section 7.2: what a site says by HTTPS must not be said by HTTP.
    answer
        .headers_mut()
        .remove(header::STRICT_TRANSPORT_SECURITY);
    answer
}

/// An answer to `HEAD` has no content (RFC 9110 section 9.3.2).
fn content_for(method: &Method, content: Content) -> Content {
    if *method == Method::HEAD {
        Content::Empty
    } else {
        content
    }
}

fn error_page(failure: &Failure) -> (StatusCode, HeaderMap, Content) {
    let status = failure.status();
    let mut fields = HeaderMap::with_capacity(6);
    fields.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    fields.insert(header::CACHE_CONTROL, NO_STORE);
    if matches!(failure, Failure::MethodNotAllowed | Failure::MayNotPurge(_)) {
        fields.insert(header::ALLOW, ALLOWED);
    }
    let text = format!(
        "{} {}\n{failure}\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or("Error")
    );
    (status, fields, Content::Whole(text.into()))
}
