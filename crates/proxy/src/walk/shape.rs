//! Shape: a stored response as this client asked for it: whole, not modified, in part, or its head only.

use crate::{
    ask::Ask,
    body::Content,
    walk::coding::{self, Then},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rules::{
    fields::remove_where,
    precondition::{self, Representation},
    range::{self, ResolvedRange, Span},
};
use store::{Body, BodyPiece, Stored, fill::Reader};

/// Status and content; the fields are changed in place.
pub struct Shaped {
    /// The status of the answer: that of what is stored, or 206, 304, 412 or 416 in its place.
    pub status: StatusCode,
    /// What the answer brings.
    pub content: Content,
}

/// Shapes a stored response. `is_new`: its content has just come from its origin. On the path of a hit: nothing is looked at that the request does not mention.
pub fn shape(
    ask: &Ask,
    stored: &Stored,
    reader: Option<Reader>,
    then: &Then,
    fields: &mut HeaderMap,
    is_new: bool,
) -> Shaped {
    // Parts are answered as parts, or their head as that of the whole.
    let status = if matches!(stored.body, Body::Parts(_)) {
        StatusCode::OK
    } else {
        stored.status
    };
    if status.is_success()
        && let Some(conditional) = conditions(ask, stored, then, (reader.as_ref(), is_new), fields)
    {
        return conditional;
    }
    if status == StatusCode::OK
        && let Some(range) = ask.range()
        && coding::may_be_parted(ask, then, stored)
        && precondition::if_range_holds(&ask.fields, &representation(stored), ask.now)
        && let Some(length) = stored.body.length()
    {
        return part(
            ask,
            stored,
            reader,
            fields,
            range::resolve(range, length),
            length,
            status,
        );
    }
    whole(ask, stored, reader, fields, status)
}

/// What the preconditions of a request are held against (RFC 9110 section 13).
pub fn representation(stored: &Stored) -> Representation<'_> {
    Representation {
        etag: stored.fields.get_bytes(&header::ETAG),
        last_modified: stored.fields.get_bytes(&header::LAST_MODIFIED),
        date: Some(stored.facts.date),
    }
}

/// The client's own conditions on an answer with a 2xx status (RFC 9110 sections 13.2.1 and 13.2.2).
fn conditions(
    ask: &Ask,
    stored: &Stored,
    then: &Then,
    (reader, is_new): (Option<&Reader>, bool),
    fields: &mut HeaderMap,
) -> Option<Shaped> {
    if !precondition::any(&ask.fields) {
        return None;
    }
    let mut representation = representation(stored);
    let of_form = then.tag(representation.etag);
    if let Then::Encode(_) | Then::Decode(_) = then {
        // Whoever holds the origin's bytes does not hold what would be sent (RFC 9110 section 8.8.3.3).
        representation.etag = of_form.as_ref().map(HeaderValue::as_bytes);
    }
    if is_new {
        // Its `Date` says when it came; only of what is stored does that say since when it has not changed (RFC 9111 section 4.3.2).
        representation.date = None;
    }
    match precondition::judge(&ask.method, &ask.fields, &representation, ask.now) {
        precondition::Outcome::NotModified => {}
        precondition::Outcome::Proceed if matches!(then, Then::NotModified(_)) => {}
        // That no condition for the origin fails was made sure before (`Bypassed::Condition`); it is not ours to judge.
        precondition::Outcome::Proceed | precondition::Outcome::Failed => return None,
    }
    if let Some(tag) = of_form {
        fields.insert(header::ETAG, tag);
    }
    Some(not_modified(reader, fields))
}

fn not_modified(reader: Option<&Reader>, fields: &mut HeaderMap) -> Shaped {
    precondition::trim_not_modified(fields);
    empty(StatusCode::NOT_MODIFIED, reader)
}

/// An answer without content. A body that is on its way is wanted all the same.
fn empty(status: StatusCode, reader: Option<&Reader>) -> Shaped {
    if let Some(reader) = reader {
        reader.keep();
    }
    Shaped {
        status,
        content: Content::Empty,
    }
}

/// What is said of the page, beside its content: lifetimes for whichever cache, validators, and what a browser makes of it.
const OF_PAGE: [HeaderName; 11] = [
    header::CACHE_CONTROL,
    header::EXPIRES,
    header::PRAGMA,
    HeaderName::from_static("x-accel-expires"),
    HeaderName::from_static("edge-control"),
    header::ETAG,
    header::LAST_MODIFIED,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LOCATION,
    header::LINK,
    header::REFRESH,
];

/// Takes away all that is said of the page: who stores the answer is not to have it for that (RFC 9111 section 3).
fn without_page(ask: &Ask, fields: &mut HeaderMap) {
    without_content(fields);
    without_digest(fields);
    let is_target = |name: &HeaderName| {
        ask.site.targets.contains(name) || name.as_str().ends_with("-cache-control")
    };
    remove_where(fields, |name| OF_PAGE.contains(name) || is_target(name));
}

/// Takes away what holds for the whole content, where a part is sent (RFC 9530 section 2).
pub fn without_digest(fields: &mut HeaderMap) {
    for name in ["content-digest", "content-md5"] {
        fields.remove(name);
    }
}

/// Takes away what describes content that is not sent.
fn without_content(fields: &mut HeaderMap) {
    for name in [
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::CONTENT_ENCODING,
        header::CONTENT_RANGE,
        header::CONTENT_LANGUAGE,
    ] {
        fields.remove(name);
    }
}

fn whole(
    ask: &Ask,
    stored: &Stored,
    reader: Option<Reader>,
    fields: &mut HeaderMap,
    status: StatusCode,
) -> Shaped {
    let length = stored.body.length();
    if ask.method == Method::HEAD {
        // A 204 never says one (RFC 9110 section 8.6).
        if status != StatusCode::NO_CONTENT
            && let Some(length) = length
            && !fields.contains_key(header::CONTENT_LENGTH)
        {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        return Shaped {
            status,
            content: Content::Empty,
        };
    }
    let content = match &stored.body {
        Body::Filling(_) => {
            reader.map_or(Content::Empty, |reader| Content::following(reader, length))
        }
        // Lookup lets parts through for requests that they cover: those for a part, which `part` has answered, and where
        // nothing is missing all others.
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) | Body::Disk(_) | Body::Parts(_) => {
            stored
                .body
                .in_one()
                .map_or_else(|| all_of(&stored.body), Content::Whole)
        }
    };
    Shaped { status, content }
}

fn part(
    ask: &Ask,
    stored: &Stored,
    reader: Option<Reader>,
    fields: &mut HeaderMap,
    asked: ResolvedRange,
    length: u64,
    status: StatusCode,
) -> Shaped {
    match asked {
        ResolvedRange::Unsatisfiable => {
            without_page(ask, fields);
            fields.insert(header::CONTENT_RANGE, range::unsatisfied(length));
            if let Some(reader) = reader {
                reader.keep();
            }
            Shaped {
                status: StatusCode::RANGE_NOT_SATISFIABLE,
                content: Content::Empty,
            }
        }
        ResolvedRange::One(span) => {
            let Some(content) = one_part(stored, reader, span) else {
                return Shaped {
                    status,
                    content: Content::Missing,
                };
            };
            without_digest(fields);
            fields.insert(header::CONTENT_RANGE, range::content_range(span, length));
            fields.insert(
                header::CONTENT_LENGTH,
                HeaderValue::from(span.last - span.first + 1),
            );
            Shaped {
                status: StatusCode::PARTIAL_CONTENT,
                content,
            }
        }
        ResolvedRange::Many(spans) => match several(stored, fields, &spans, length) {
            Some(content) => {
                without_digest(fields);
                Shaped {
                    status: StatusCode::PARTIAL_CONTENT,
                    content,
                }
            }
            None => fallback(stored, reader, status, length),
        },
        ResolvedRange::Whole => fallback(stored, reader, status, length),
    }
}

fn one_part(stored: &Stored, reader: Option<Reader>, span: Span) -> Option<Content> {
    if let Some(reader) = reader {
        // A part that is on its way begins where it lies in the whole.
        let begins = match &stored.body {
            Body::Parts(parts) => parts.begins(),
            _ => 0,
        };
        let skip = span.first.checked_sub(begins)?;
        return Some(Content::following_part(reader, skip, span.length()));
    }
    stored.body.slice(span).map(Content::pieces)
}

/// The whole instead of the parts asked for, which a server may always send (RFC 9110 section 14.2).
fn fallback(stored: &Stored, reader: Option<Reader>, status: StatusCode, length: u64) -> Shaped {
    let content = match reader {
        Some(reader) => Content::following(reader, Some(length)),
        None => all_of(&stored.body),
    };
    Shaped { status, content }
}

/// A body of which something is missing breaks off: it must not look empty, nor whole.
fn all_of(body: &Body) -> Content {
    let last = match body.length() {
        Some(0) => return Content::Empty,
        length => length.and_then(|length| length.checked_sub(1)),
    };
    let pieces = last.and_then(|last| body.slice(Span { first: 0, last }));
    pieces.map_or(Content::Missing, Content::pieces)
}

/// `multipart/byteranges` (RFC 9110 section 15.3.7.2).
fn several(
    stored: &Stored,
    fields: &mut HeaderMap,
    spans: &[Span],
    length: u64,
) -> Option<Content> {
    let boundary = format!(
        "larder-{:016x}",
        stored.id().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    );
    let kind = fields.get(header::CONTENT_TYPE).cloned();
    let mut pieces = Vec::with_capacity(spans.len() * 2 + 1);
    for span in spans {
        let head = range::part_head(&boundary, kind.as_ref(), *span, length);
        pieces.push(Bytes::from(head).into());
        pieces.extend(stored.body.slice(*span)?);
    }
    pieces.push(Bytes::from(range::part_end(&boundary)).into());
    let sum: u64 = pieces.iter().map(BodyPiece::len).sum();
    let kind = HeaderValue::try_from(format!("multipart/byteranges; boundary={boundary}")).ok()?;
    fields.insert(header::CONTENT_TYPE, kind);
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(sum));
    Some(Content::pieces(pieces))
}

#[cfg(test)]
mod tests;
