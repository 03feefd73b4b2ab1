//! Makes the answer from a file: its fields, and the effect of the request's conditions and range.

use super::{
    LIFETIME,
    coding::Chosen,
    content::{self, AT_ONCE, Content},
};
use crate::{Lifetime, ResponseBody, gate::Pass};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use rules::{
    method::is_retrieval,
    precondition::{self, Representation, Verdict},
    range::{self, ResolvedRange, Span},
    time::Time,
};
use std::{
    io,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use xxhash_rust::xxh3::xxh3_128;

/// The lifetime of an answer that has none of its own.
const USUAL: Lifetime = Lifetime::Usual(LIFETIME);

/// An answer whose content may still be on the device.
#[derive(Debug)]
pub(crate) struct FileAnswer {
    status: StatusCode,
    fields: HeaderMap,
    content: Content,
    lifetime: Lifetime,
}

impl FileAnswer {
    /// Returns this as an answer that `larder publish` keeps up to date. What it replaces after a purge may have been
    /// requested, and stored anew, in between.
    pub(crate) fn published(self) -> Self {
        let lifetime = Lifetime::AtMost(LIFETIME);
        Self { lifetime, ..self }
    }

    pub(crate) fn into_response(self, pass: Pass) -> Response<ResponseBody> {
        let mut response = Response::new(self.content.into_body(pass));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.fields;
        response.extensions_mut().insert(self.lifetime);
        response
    }

    fn empty(status: StatusCode, fields: HeaderMap) -> Self {
        let content = Content::Read(Bytes::new());
        Self {
            status,
            fields,
            content,
            lifetime: USUAL,
        }
    }
}

/// Answers a request of `method` with `fields` and the chosen file. `described` is what is known about it besides the
/// file.
pub(crate) fn answer(
    method: &Method,
    request: &HeaderMap,
    described: HeaderMap,
    chosen: Chosen,
) -> io::Result<FileAnswer> {
    let now = SystemTime::now();
    let mut fields = described;
    fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(tag) = chosen.facts.etag(now) {
        fields.insert(header::ETAG, tag);
    }
    if let Some(modified) = chosen.facts.last_modified(now) {
        fields.insert(header::LAST_MODIFIED, modified);
    }
    if let Some(coding) = chosen.coding {
        fields.insert(
            header::CONTENT_ENCODING,
            HeaderValue::from_static(coding.name()),
        );
    }
    if chosen.varies {
        fields.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    let now = time(now);
    let (verdict, whole) = judged(method, request, &fields, now);
    match verdict {
        Verdict::Proceed => part(method, request, fields, chosen, whole),
        Verdict::NotModified => {
            precondition::trim_not_modified(&mut fields);
            Ok(FileAnswer::empty(StatusCode::NOT_MODIFIED, fields))
        }
        Verdict::Failed => Ok(FileAnswer::empty(
            StatusCode::PRECONDITION_FAILED,
            HeaderMap::new(),
        )),
    }
}

/// Returns what the request's conditions come to, and whether a range in it is ignored.
fn judged(method: &Method, request: &HeaderMap, fields: &HeaderMap, now: Time) -> (Verdict, bool) {
    if !precondition::any(request) {
        return (Verdict::Proceed, false);
    }
    let modified = fields.get(header::LAST_MODIFIED);
    let mut request = request.clone();
    if request.get(header::IF_MODIFIED_SINCE) != modified {
        // A file that was put back is older than what the client has, and still differs from it.
        request.remove(header::IF_MODIFIED_SINCE);
    }
    let representation = Representation {
        etag: fields.get(header::ETAG).map(HeaderValue::as_bytes),
        last_modified: modified.map(HeaderValue::as_bytes),
        date: Some(now),
    };
    let whole = !precondition::if_range_holds(&request, &representation, now);
    (
        precondition::judge(method, &request, &representation, now),
        whole,
    )
}

/// Answers with the whole file, or with the one part that is asked for. A request for several parts gets the whole.
fn part(
    method: &Method,
    request: &HeaderMap,
    mut fields: HeaderMap,
    chosen: Chosen,
    whole: bool,
) -> io::Result<FileAnswer> {
    let length = chosen.facts.length;
    let asked = request
        .get(header::RANGE)
        .filter(|_| *method == Method::GET && !whole);
    let (status, span) = match asked.map(|asked| range::resolve(asked, length)) {
        Some(ResolvedRange::One(span)) => {
            let part = format!("bytes {}-{}/{length}", span.first, span.last);
            put(&mut fields, header::CONTENT_RANGE, part);
            (StatusCode::PARTIAL_CONTENT, Some(span))
        }
        Some(ResolvedRange::Unsatisfiable) => {
            let mut fields = HeaderMap::new();
            put(
                &mut fields,
                header::CONTENT_RANGE,
                format!("bytes */{length}"),
            );
            return Ok(FileAnswer::empty(StatusCode::RANGE_NOT_SATISFIABLE, fields));
        }
        Some(ResolvedRange::Whole | ResolvedRange::Many(_)) | None => {
            let whole = length.checked_sub(1).map(|last| Span { first: 0, last });
            (StatusCode::OK, whole)
        }
    };
    let sent = span.map_or(0, Span::length);
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(sent));
    let content = match span {
        Some(span) if *method == Method::GET && sent <= AT_ONCE => {
            let end = span.last.saturating_add(1);
            Content::Read(content::read(&chosen.file, &chosen.facts, span.first, end)?.0)
        }
        Some(span) if *method == Method::GET => {
            Content::Open(Arc::new(chosen.file), chosen.facts, span)
        }
        Some(_) | None => Content::Read(Bytes::new()),
    };
    Ok(FileAnswer {
        status,
        fields,
        content,
        lifetime: USUAL,
    })
}

/// Like [`answer`], for a body in memory. Its tag is a hash of its content unless `fields` have one.
pub(crate) fn with_bytes(
    method: &Method,
    request: &HeaderMap,
    status: StatusCode,
    mut fields: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, Bytes) {
    if status == StatusCode::OK {
        if !fields.contains_key(header::ETAG) {
            put(
                &mut fields,
                header::ETAG,
                format!("\"{:032x}\"", xxh3_128(&body)),
            );
        }
        match judged(method, request, &fields, time(SystemTime::now())) {
            (Verdict::Proceed, _) => {}
            (Verdict::NotModified, _) => {
                precondition::trim_not_modified(&mut fields);
                return (StatusCode::NOT_MODIFIED, fields, Bytes::new());
            }
            (Verdict::Failed, _) => {
                return (
                    StatusCode::PRECONDITION_FAILED,
                    HeaderMap::new(),
                    Bytes::new(),
                );
            }
        }
    }
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let body = if *method == Method::HEAD {
        Bytes::new()
    } else {
        body
    };
    (status, fields, body)
}

/// Redirects to the folder's own name with a slash at its end, which makes relative links in it right.
pub(crate) fn with_slash(path: &str, query: Option<&str>) -> FileAnswer {
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    let mut fields = HeaderMap::new();
    put(&mut fields, header::LOCATION, format!("{path}/{query}"));
    redirect(StatusCode::MOVED_PERMANENTLY, fields)
}

/// Makes a redirect to the location in `fields`.
pub(crate) fn redirect(status: StatusCode, mut fields: HeaderMap) -> FileAnswer {
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
    FileAnswer::empty(status, fields)
}

/// Makes the answer to a request of `method` for which there is nothing: 404, or 405 if that method never gets an
/// answer.
pub(crate) fn not_found(method: &Method) -> Response<ResponseBody> {
    if is_retrieval(method) {
        return bare(StatusCode::NOT_FOUND, "Not Found\n");
    }
    let mut response = bare(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    let allowed = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

/// Makes a short answer of our own.
fn bare(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let body = Full::from(text).map_err(|never| match never {});
    let mut response = Response::new(ResponseBody::own(body));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    response.extensions_mut().insert(USUAL);
    response
}

fn put(fields: &mut HeaderMap, name: header::HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        fields.insert(name, value);
    }
}

fn time(now: SystemTime) -> Time {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
