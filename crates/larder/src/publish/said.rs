//! What an answer says about its page.

use super::manifest::Page;
use http::{HeaderMap, HeaderName, Method, Response, StatusCode, header};
use rules::{
    directives::{self, RequestDirectives},
    freshness,
    storable::{self, Exchange, NotStorable, SetCookie},
    surrogate,
    time::Time,
    uri,
};
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

/// A `Last-Modified` this much older than its answer is a strong validator (RFC 9110 section 8.8.2.2).
const SETTLED: Duration = Duration::from_mins(1);

/// The fields of an answer that belong to the page and not to its transfer.
const KEPT: [HeaderName; 21] = [
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LANGUAGE,
    header::LINK,
    HeaderName::from_static("x-robots-tag"),
    // What browsers may do with the page.
    header::CONTENT_SECURITY_POLICY,
    header::CONTENT_SECURITY_POLICY_REPORT_ONLY,
    header::REFERRER_POLICY,
    header::STRICT_TRANSPORT_SECURITY,
    header::X_CONTENT_TYPE_OPTIONS,
    header::X_FRAME_OPTIONS,
    HeaderName::from_static("permissions-policy"),
    HeaderName::from_static("service-worker-allowed"),
    // What pages of other sites may do with it, and it with them.
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    HeaderName::from_static("cross-origin-embedder-policy"),
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderName::from_static("cross-origin-resource-policy"),
    HeaderName::from_static("origin-agent-cluster"),
    HeaderName::from_static("timing-allow-origin"),
    HeaderName::from_static("x-permitted-cross-domain-policies"),
];
/// The fields that address caches near the application (RFC 9213).
const TARGETS: [HeaderName; 2] = [
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("cdn-cache-control"),
];

/// Says of an answer what an `Expires` in the past says. That one is not kept: many applications write the present time
/// into it, and then each run would find something new.
const NEVER_FRESH: &str = "max-age=0";

/// The kind of a page, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// Has links.
    Html,
    /// Has references.
    Css,
    /// Never ends.
    Stream,
    /// Has neither.
    Other,
}

impl Document {
    /// Returns the kind for a media type.
    pub fn of(kind: Option<&str>) -> Self {
        let essence = kind
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/css" => Self::Css,
            "text/event-stream" => Self::Stream,
            _ => Self::Other,
        }
    }
}

/// Checks whether a shared cache might store the answer; for how long does not matter here.
pub fn judge<B>(url: &str, asked: &HeaderMap, response: &Response<B>) -> Result<(), NotStorable> {
    let now = Time::from(SystemTime::now());
    let exchange = Exchange {
        method: &Method::GET,
        request: asked,
        request_directives: &RequestDirectives::default(),
        target: url,
        status: response.status(),
        response: response.headers(),
        request_time: now,
        response_time: now,
    };
    // The fields for caches near the application may allow more than `Cache-Control`, or less: both must allow it.
    for targets in [&[][..], &TARGETS] {
        let site = storable::Site {
            freshness: freshness::Site::default(),
            set_cookie: SetCookie::Refuse,
            targets,
        };
        match storable::judge(&exchange, &site) {
            Ok(_) | Err(NotStorable::NoFreshness | NotStorable::EventStream) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

/// Returns what the manifest says about a page, without its file.
pub fn described(fields: &HeaderMap) -> Page {
    Page {
        status: StatusCode::OK.as_u16(),
        kind: text(fields, &header::CONTENT_TYPE),
        etag: text(fields, &header::ETAG),
        modified: settled(fields),
        fields: kept(fields),
        tags: surrogate::tags(fields),
        groups: surrogate::groups(fields),
        ..Page::default()
    }
}

/// Returns `Last-Modified`, if the page cannot have changed again in the same second.
fn settled(fields: &HeaderMap) -> Option<String> {
    let modified = text(fields, &header::LAST_MODIFIED)?;
    let since = httpdate::parse_http_date(&modified).ok()?;
    let date = httpdate::parse_http_date(&text(fields, &header::DATE)?).ok()?;
    let age = date.duration_since(since).ok()?;
    (age >= SETTLED).then_some(modified)
}

/// Returns the fields that stay with the page.
pub fn kept(fields: &HeaderMap) -> BTreeMap<String, String> {
    let name = |name: &HeaderName| Some((name.as_str().to_owned(), text(fields, name)?));
    let mut kept: BTreeMap<_, _> = KEPT.iter().filter_map(name).collect();
    if is_never_fresh(fields) {
        let control = kept
            .entry(header::CACHE_CONTROL.as_str().to_owned())
            .or_default();
        *control = match control.trim() {
            "" => NEVER_FRESH.to_owned(),
            other => format!("{other}, {NEVER_FRESH}"),
        };
    }
    kept
}

/// Whether `Expires` alone says how long clients may use the answer, and that is no time at all (RFC 9111 section 5.3).
/// Without it they would guess a time.
fn is_never_fresh(fields: &HeaderMap) -> bool {
    let (directives, _) = directives::response(fields, &[]);
    let Some(expires) = text(fields, &header::EXPIRES) else {
        return false;
    };
    let date = text(fields, &header::DATE).and_then(|date| httpdate::parse_http_date(&date).ok());
    let date = date.unwrap_or_else(SystemTime::now);
    // What is no date has expired.
    let has_expired = httpdate::parse_http_date(&expires).map_or(true, |expires| expires <= date);
    directives.max_age.is_none() && has_expired
}

/// Joins all lines of a field; `None` if there are none. Over HTTP/2, an application may have white space around them.
pub fn text(fields: &HeaderMap, name: &HeaderName) -> Option<String> {
    let lines = fields.get_all(name).iter();
    let lines: Vec<_> = lines
        .map(|line| String::from_utf8_lossy(line.as_bytes().trim_ascii()))
        .collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Returns the fragment of a `Location`; requests have none (RFC 9110 section 10.2.2).
pub fn fragment(location: &[u8]) -> String {
    let at = location.iter().position(|byte| *byte == b'#');
    let fragment = at.and_then(|at| location.get(at..)).unwrap_or_default();
    uri::encode(fragment)
}

/// Returns a location without its fragment.
pub fn without_fragment(location: &str) -> &str {
    location
        .split_once('#')
        .map_or(location, |(before, _)| before)
}
