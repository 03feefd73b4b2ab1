//! ESI: pages whose fragments are walks of their own.
//!
//! What is stored is the page as the origin wrote it; it is composed anew for each client that gets it, so that nothing of one
//! client's fragments is in what another gets. [`Composer`] is the body of such an answer, [`Fragment`] one include.
//!
//! A composed answer has no validators, parts or length of the stored page's, and its client may not keep it for others nor use
//! it again unasked: it is no fresher than its fragments, which are not known when its head goes out.

mod composer;
mod context;
mod fragment;
mod kept;
mod reading;
mod segment;
mod shared;
mod source;
mod within;

pub use composer::Composer;
pub use context::Context;
pub use reading::Readings;
pub use within::Within;

use crate::{
    ask::Ask, body::Content, cache::Worker, compress::Recoded, outcome::bump, policy::Esi,
    walk::shape::Shaped,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use kept::Kept;
use reading::Begun;
use rules::{coding::Coding, range::Span, surrogate};
use shared::Shared;
use source::Source;
use std::{rc::Rc, sync::Arc};
use store::{Body, Stored, fill::Reader};

/// The largest body that is read at once, in bytes; a larger one is read while it is sent.
const MOST_AT_ONCE: usize = 1 << 20;

/// Whether a stored response may be a page. On the path of a hit: two comparisons.
#[inline]
pub fn concerns(ask: &Ask, stored: &Stored) -> bool {
    stored.has_surrogate_control() || ask.policy().esi == Esi::On
}

/// Whether a stored response is a page. Looks at its fields, as no hit in memory does.
pub fn is_stored_page(ask: &Ask, stored: &Stored) -> bool {
    concerns(ask, stored) && {
        let says_so = stored.has_surrogate_control();
        is_page(ask, stored.status, &stored.fields.unpack(0), says_so)
    }
}

/// Shapes a stored response that may be a page; `None`, and the reader left, where it is none.
pub fn stored(
    worker: &Rc<Worker>,
    ask: &Ask,
    stored: &Arc<Stored>,
    reader: &mut Option<Reader>,
    fields: &mut HeaderMap,
) -> Option<Shaped> {
    fields.remove(surrogate::CONTROL);
    let status = stored.status;
    if !is_page(ask, status, fields, stored.has_surrogate_control()) {
        return None;
    }
    let known = known(worker, ask, stored, fields);
    if matches!(&known, Known::Kept(kept) if kept.is_plain()) {
        return None;
    }
    if ask.method == Method::HEAD {
        if let Some(reader) = reader {
            reader.keep();
        }
        return Some(composed(ask, status, fields, Content::Empty));
    }
    let source = match (known, &stored.body) {
        (Known::Kept(kept), _) if kept.decoded.is_some() => {
            fields.remove(header::CONTENT_ENCODING);
            let body = kept.decoded.clone()?;
            Source::kept(kept, body)
        }
        (Known::Kept(kept), Body::Whole(body)) if coding_of(fields).is_none() => {
            Source::kept(kept, body.clone())
        }
        (known, body) => {
            let content = match body {
                Body::Filling(_) => Content::following(reader.take()?, None),
                body => {
                    let last = body.length()?.checked_sub(1)?;
                    Content::pieces(body.slice(Span { first: 0, last })?)
                }
            };
            let coding = coding_of(fields);
            let content = match (&known, coding) {
                (Known::Unread, Some(coding)) => {
                    decoded_for_all(worker, fields, (stored, coding), content)
                }
                _ => decoded(worker, fields, coding, content),
            };
            match known {
                Known::Kept(kept) => Source::known(kept, content),
                Known::Unread => read(worker, ask, stored, coding.is_some(), content),
                Known::Unkept => streamed(worker, content),
            }
        }
    };
    let content = compose(worker, ask, source, fields);
    Some(composed(ask, status, fields, content))
}

/// Whether an answer that is not stored is a page; to be asked before its fields are made ready for the client.
pub fn is_raw_page(ask: &Ask, status: StatusCode, fields: &HeaderMap) -> bool {
    is_page(ask, status, fields, surrogate::wants_esi(fields))
}

/// Whether a 206 with these fields is a part of a page, of which only the whole can be composed. On a route of pages also where
/// they do not tell: several parts have a type of their own, and one may have none (RFC 9110 section 15.3.7).
pub fn is_part_of_page(ask: &Ask, fields: &HeaderMap) -> bool {
    let kind = fields.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let tells = kind.is_some_and(|kind| {
        let multipart = b"multipart/";
        let start = kind.get(..multipart.len()).unwrap_or_default();
        !start.eq_ignore_ascii_case(multipart)
    });
    (ask.policy().esi == Esi::On && !tells)
        || is_page(ask, StatusCode::OK, fields, surrogate::wants_esi(fields))
}

/// Composes an answer that is not stored.
pub fn raw(
    worker: &Rc<Worker>,
    ask: &Ask,
    status: StatusCode,
    fields: &mut HeaderMap,
    content: Content,
) -> Shaped {
    let coding = coding_of(fields);
    let content = decoded(worker, fields, coding, content);
    let source = streamed(worker, content);
    let content = compose(worker, ask, source, fields);
    composed(ask, status, fields, content)
}

/// A page's content, without its coding. Where memory has no room for a decoder, the answer breaks off.
fn decoded(
    worker: &Worker,
    fields: &mut HeaderMap,
    coding: Option<Coding>,
    content: Content,
) -> Content {
    let Some(coding) = coding else {
        return content;
    };
    fields.remove(header::CONTENT_ENCODING);
    let (counts, memory) = (&worker.cache.compressor.counts, &worker.cache.memory);
    Recoded::decoded(content, coding, counts, memory).unwrap_or(Content::Missing)
}

/// The same of a stored page that nobody has had all of: whoever gets it meanwhile gets what is decoded here too.
fn decoded_for_all(
    worker: &Worker,
    fields: &mut HeaderMap,
    what: (&Stored, Coding),
    content: Content,
) -> Content {
    fields.remove(header::CONTENT_ENCODING);
    let (compressor, memory) = (&worker.cache.compressor, &worker.cache.memory);
    let decodings = &compressor.decodings;
    let shared = decodings.follow(what, content, &compressor.counts, memory);
    shared.unwrap_or(Content::Missing)
}

/// A stored page that is read as it comes. `decodes`: it is stored in a coding.
fn read(worker: &Worker, ask: &Ask, stored: &Stored, decodes: bool, content: Content) -> Source {
    let (readings, key) = (&worker.cache.readings, ask.key.as_bytes());
    let reading = match readings.begin(worker, key, stored, decodes) {
        Begun::First(reading) => {
            bump(&worker.counters.pages_read);
            reading
        }
        Begun::UnderWay(reading) => reading,
        Begun::Alone => return streamed(worker, content),
    };
    let counters = worker.counters.clone();
    Source::Shared(Box::new(Shared::new(reading, content, counters)))
}

/// A page that is read as it comes, for one client.
fn streamed(worker: &Worker, content: Content) -> Source {
    bump(&worker.counters.pages_read);
    Source::streamed(content)
}

/// The coding in which a page is written; `None` where it is not coded, or in a way that cannot be read.
fn coding_of(fields: &HeaderMap) -> Option<Coding> {
    let mut codings = fields.get_all(header::CONTENT_ENCODING).iter();
    let only = codings.next().filter(|_| codings.next().is_none())?;
    Coding::parse(only.as_bytes())
}

/// Whether an answer is written in ESI. Formats in which text stands unescaped (JSON, plain text) only where the origin says so:
/// what a user wrote must not be carried out.
fn is_page(ask: &Ask, status: StatusCode, fields: &HeaderMap, says_so: bool) -> bool {
    let wanted = match ask.policy().esi {
        Esi::Off => false,
        Esi::Told => says_so,
        Esi::On => says_so || is_markup(fields),
    };
    let whole = !status.is_informational()
        && ![
            StatusCode::NO_CONTENT,
            StatusCode::PARTIAL_CONTENT,
            StatusCode::NOT_MODIFIED,
        ]
        .contains(&status);
    wanted && whole && (is_identity(fields) || coding_of(fields).is_some())
}

/// HTML or XML, but for pictures, which visitors bring.
fn is_markup(fields: &HeaderMap) -> bool {
    let kind = fields.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    matches!(kind.as_str(), "text/html" | "text/xml" | "application/xml")
        || (kind.ends_with("+xml") && !kind.starts_with("image/"))
}

/// Whether the content is not coded.
fn is_identity(fields: &HeaderMap) -> bool {
    let mut codings = fields.get_all(header::CONTENT_ENCODING).iter();
    codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// What is known of a page.
enum Known {
    /// What it was read to be: kept beside it, or read now and kept from now on.
    Kept(Kept),
    /// It is read while it is sent, and kept then.
    Unread,
    /// It is read while it is sent, as there is no room to keep it.
    Unkept,
}

fn known(worker: &Worker, ask: &Ask, stored: &Stored, fields: &HeaderMap) -> Known {
    if let Some(kept) = stored.derived::<Kept>() {
        return Known::Kept(kept.clone());
    }
    match &stored.body {
        Body::Whole(body) if body.len() <= MOST_AT_ONCE && coding_of(fields).is_none() => {
            match Kept::read(worker, ask.key.as_bytes(), stored, body) {
                Some(kept) => {
                    bump(&worker.counters.pages_read);
                    Known::Kept(kept)
                }
                None => Known::Unkept,
            }
        }
        _ => Known::Unread,
    }
}

/// The content for this client: at once where everything is at hand, otherwise while it arrives.
fn compose(worker: &Rc<Worker>, ask: &Ask, source: Source, fields: &mut HeaderMap) -> Content {
    if ask.method == Method::HEAD {
        // A head says nothing that the fragments would have to be asked for.
        return Content::Empty;
    }
    let mut composer = Composer::new(Context::new(worker, ask), source);
    match composer.at_once() {
        Some((content, length)) => {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            content
        }
        None => Content::Composed(Box::new(composer)),
    }
}

/// The head of a composed answer.
fn composed(ask: &Ask, status: StatusCode, fields: &mut HeaderMap, content: Content) -> Shaped {
    const OF_THE_PAGE_ALONE: [HeaderName; 14] = [
        header::ETAG,
        header::LAST_MODIFIED,
        header::ACCEPT_RANGES,
        header::EXPIRES,
        header::PRAGMA,
        HeaderName::from_static("content-md5"),
        HeaderName::from_static("digest"),
        HeaderName::from_static("content-digest"),
        HeaderName::from_static("repr-digest"),
        HeaderName::from_static("signature"),
        HeaderName::from_static("signature-input"),
        header::TRAILER,
        // Lifetimes that nginx and Akamai heed before `Cache-Control`.
        HeaderName::from_static("x-accel-expires"),
        HeaderName::from_static("edge-control"),
    ];
    ask.composed.set(true);
    for name in OF_THE_PAGE_ALONE {
        fields.remove(name);
    }
    if matches!(content, Content::Composed(_)) || ask.method == Method::HEAD {
        fields.remove(header::CONTENT_LENGTH);
    }
    // Lifetimes for caches between us and the client (RFC 9213) are the page's too.
    let targeted: Vec<_> = fields
        .keys()
        .filter(|name| name.as_str().ends_with("-cache-control"))
        .chain(&ask.site.targets)
        .cloned()
        .collect();
    for name in targeted {
        fields.remove(name);
    }
    fields.insert(header::CACHE_CONTROL, unkept(fields));
    Shaped { status, content }
}

/// What clients are told of a composed answer's lifetime: as much as [`self`] says, and what the page forbids beyond that.
fn unkept(fields: &HeaderMap) -> HeaderValue {
    let lines = fields.get_all(header::CACHE_CONTROL).iter();
    let lines: Vec<_> = lines.filter_map(|line| line.to_str().ok()).collect();
    let says = |word: &str| {
        let mut words = lines.iter().flat_map(|line| line.split(','));
        words.any(|said| said.trim().eq_ignore_ascii_case(word))
    };
    HeaderValue::from_static(match (says("no-store"), says("no-transform")) {
        (false, false) => "private, no-cache",
        (false, true) => "private, no-cache, no-transform",
        (true, false) => "private, no-store",
        (true, true) => "private, no-store, no-transform",
    })
}

#[cfg(test)]
mod tests;
