//! One fetch from scripts: what its path stands for, and what answers.

use super::{
    body::Output,
    call::{self, Call},
    config::FastCgi,
    exchange::{Arrived, Exchange},
    gather,
    place::{self, NamedFile, ResolvedPath, Script},
};
use crate::{
    Context, Error, Kind, Lifetime, RequestBody, ResponseBody, Room, Servers, Visitor,
    fetch::{self as attempts, Bounds},
    fetch_guard::FetchGuard,
    files::LIFETIME,
    upload::Outgoing,
};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, LOCATION},
    request::Parts,
};
use http_body_util::{BodyExt, Empty, Full};
use rules::method::is_retrieval;
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::time::{Instant, timeout_at};

/// Most local redirects in a row (RFC 3875 section 6.2.2). More are a loop.
const MOST_REDIRECTS: usize = 5;

/// What a script wants answered instead of its request.
#[derive(Clone)]
struct Elsewhere(String);

/// Fetches from an origin of scripts.
pub(crate) async fn fetch(
    origin: &Arc<Servers>,
    cgi: &Arc<FastCgi>,
    request: Request<RequestBody>,
    context: Context,
) -> Result<Response<ResponseBody>, Error> {
    let (mut head, body) = request.into_parts();
    let Bounds { until, .. } = origin.bounds(Instant::now());
    let mut sent = Some((body, context.room));
    let mut whole = context.content;
    let mut repeatable = context.repeatable;
    for _ in 0..=MOST_REDIRECTS {
        let has_run = context.sent.was_sent();
        let note_run = |error: Error| error.having_sent_if(has_run);
        let found = look(cgi, head.uri.path()).await;
        let found = found.and_then(|found| unless_front_is_gone(origin, cgi, found));
        let found = found.inspect_err(|error| origin.refuse(error));
        let script = match found.map_err(note_run)? {
            ResolvedPath::Script(script) => script,
            ResolvedPath::File(found) => {
                return file(origin, &head, found).await.map_err(note_run);
            }
            ResolvedPath::Folder(path) => return Ok(folder(&head, &path)),
            ResolvedPath::Refused => return Ok(own(StatusCode::FORBIDDEN, "Forbidden\n")),
            ResolvedPath::Nothing | ResolvedPath::NoFront(_) => {
                return Ok(own(StatusCode::NOT_FOUND, "Not Found\n"));
            }
        };
        let (body, length) = match sent.take() {
            Some((body, room)) => measured(origin, body, room, until).await?,
            None => (empty(), None),
        };
        let asked = call::Request::of(&head, length);
        let call = call(origin, cgi, &script, &asked, &context.visitor);
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        let context = Context {
            hash: context.hash,
            repeatable,
            content: whole.take(),
            sent: context.sent.clone(),
            ..Context::default()
        };
        let bounds = Bounds {
            began: Instant::now(),
            until,
        };
        let answer = attempts::fetch(origin, request, context, Some(call), bounds).await;
        let mut response = answer.map_err(note_run)?;
        let Some(Elsewhere(target)) = response.extensions_mut().remove() else {
            return Ok(response);
        };
        repeatable = true;
        redirect(&mut head, &target).map_err(|error| error.having_sent_if(true))?;
    }
    let circle = Error::new(Kind::Malformed).because("a script's local redirects lead in a circle");
    Err(circle.having_sent_if(true))
}

/// Returns the call that an active health check makes. `Err` says why there can be none.
pub(crate) async fn probe(
    origin: &Servers,
    cgi: &Arc<FastCgi>,
    request: &Request<Outgoing>,
) -> Result<Arc<Call>, String> {
    let (own, path) = (Arc::clone(cgi), request.uri().path().to_owned());
    let script = tokio::task::spawn_blocking(move || place::probed(&own, &path))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let request = call::Request {
        method: request.method(),
        uri: request.uri(),
        fields: request.headers(),
        length: None,
    };
    Ok(call(origin, cgi, &script, &request, &Visitor::default()))
}

/// Looks up `path` on a thread where the file system may block.
async fn look(cgi: &Arc<FastCgi>, path: &str) -> Result<ResolvedPath, Error> {
    let (own, path) = (Arc::clone(cgi), path.to_owned());
    let looking = tokio::task::spawn_blocking(move || place::find(&own, &path));
    looking
        .await
        .map_err(|cause| Error::new(Kind::Configuration).because(cause))?
}

/// Passes on what was found, unless the front is gone. It knows which pages there are, so without it nobody can say that
/// one is none. A site that never had one answers 404.
fn unless_front_is_gone(
    origin: &Servers,
    cgi: &FastCgi,
    found: ResolvedPath,
) -> Result<ResolvedPath, Error> {
    match &found {
        ResolvedPath::Script(script) if cgi.is_front(&script.name) => {
            origin.had_front.store(true, Relaxed);
        }
        ResolvedPath::NoFront(file) if origin.had_front.load(Relaxed) => {
            let why = format!("{} is not there any more", file.display());
            return Err(Error::new(Kind::Configuration).because(why));
        }
        _ => {}
    }
    Ok(found)
}

fn call(
    origin: &Servers,
    cgi: &FastCgi,
    script: &Script,
    request: &call::Request<'_>,
    visitor: &Visitor,
) -> Arc<Call> {
    let keeps = origin.identity.keeps();
    Arc::new(Call::new(cgi, script, request, visitor, keeps))
}

/// Returns the body with its length, gathered if necessary (`gather`), for which there is time until `until`.
async fn measured(
    origin: &Servers,
    body: RequestBody,
    room: Option<Room>,
    until: Option<Instant>,
) -> Result<(RequestBody, Option<u64>), Error> {
    let gathering = gather::measured(body, room);
    let measured = match until {
        Some(until) => timeout_at(until, gathering)
            .await
            .map_err(|_| Error::new(Kind::WholeTimeout))?,
        None => gathering.await,
    };
    measured.inspect_err(|error| {
        if error.kind() == Kind::Spool {
            origin.refuse(error);
        }
    })
}

fn empty() -> RequestBody {
    RequestBody::new(Empty::new().map_err(|never| match never {}))
}

/// Turns the request into the one that a local redirect asks for. It has no content, whatever it had before.
fn redirect(head: &mut Parts, target: &str) -> Result<(), Error> {
    let uri = target.parse::<Uri>();
    head.uri = uri.map_err(|cause| Error::new(Kind::Malformed).because(cause))?;
    if head.method != Method::HEAD {
        head.method = Method::GET;
    }
    head.headers.remove(CONTENT_LENGTH);
    head.headers.remove(CONTENT_TYPE);
    Ok(())
}

/// Answers with a file next to the scripts. Its lifetime is that of a file from a folder, because nothing tells when it
/// changes.
async fn file(
    origin: &Servers,
    head: &Parts,
    found: NamedFile,
) -> Result<Response<ResponseBody>, Error> {
    let Some(files) = &origin.files else {
        return Ok(own(StatusCode::NOT_FOUND, "Not Found\n"));
    };
    let mut request = Request::new(());
    *request.method_mut() = head.method.clone();
    *request.headers_mut() = head.headers.clone();
    let uri = place::encoded(&found.name).parse::<Uri>();
    *request.uri_mut() = uri.map_err(|cause| Error::new(Kind::Unreadable).because(cause))?;
    let found = files.answer_found(&request, found.real).await?;
    let mut response = found.or_not_found(request.method());
    // What the site says about lifetimes concerns its scripts' pages.
    let lifetime = Lifetime::AtMost(LIFETIME);
    response.extensions_mut().insert(lifetime);
    Ok(response)
}

/// Redirects to a folder that was asked for without its slash.
fn folder(head: &Parts, path: &str) -> Response<ResponseBody> {
    if !is_retrieval(&head.method) {
        let mut response = own(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
        let allow = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allow);
        return response;
    }
    let query = head.uri.query();
    let location = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let mut response = own(StatusCode::MOVED_PERMANENTLY, "Moved Permanently\n");
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// Makes an answer of our own.
fn own(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
    let mut response = Response::new(ResponseBody::own(body));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// Makes the response of an attempt that brought a head.
pub(crate) fn answered(
    arrived: Arrived,
    exchange: Exchange,
    guard: FetchGuard,
) -> Result<Response<ResponseBody>, Error> {
    match arrived {
        Arrived::Response(response) => {
            let body = Output::new(&response, exchange, guard)?;
            Ok(response.map(|()| ResponseBody::own(body)))
        }
        Arrived::Local(target) => {
            guard.end(None);
            let mut response = own(StatusCode::OK, "");
            response.extensions_mut().insert(Elsewhere(target));
            Ok(response)
        }
    }
}

impl Arrived {
    /// Returns the status for a health check. A local redirect counts as the page it leads to.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Response(response) => response.status(),
            Self::Local(_) => StatusCode::OK,
        }
    }
}
