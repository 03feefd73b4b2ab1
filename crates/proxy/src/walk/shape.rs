//! Shape: a stored response in the way this client asked for it: whole, not modified, in part, or only its head.

mod part;
mod without;

use crate::{
    ask::Ask,
    body::Content,
    walk::coding::{self, Then},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use part::part;
use rules::{
    partial,
    precondition::{self, Representation},
    range,
    time::Time,
};
use store::{Body, Stored, fill::Reader};

pub use without::without_digest;

/// Status and content. The fields are changed in place.
pub struct Shaped {
    /// The status of the answer: that of the stored response, or 206, 304, 412 or 416 in its place.
    pub status: StatusCode,
    /// The content of the answer.
    pub content: Content,
}

/// Shapes a stored response. `is_new` says that its content has just come from its origin. This is on the path of a
/// hit: it looks at nothing that the request does not mention.
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
        && if_range_holds(ask, stored)
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

/// Returns what the preconditions of a request are compared with (RFC 9110 section 13).
pub fn representation(stored: &Stored) -> Representation<'_> {
    Representation {
        etag: stored.fields.get_bytes(&header::ETAG),
        last_modified: stored.fields.get_bytes(&header::LAST_MODIFIED),
        date: Some(stored.facts.date),
    }
}

/// Whether the request may have a part of `stored` in view of its `If-Range` (RFC 9110 section 13.1.5).
pub fn if_range_holds(ask: &Ask, stored: &Stored) -> bool {
    let is_doubted = stored.facts.is_weakly_known && ask.fields.contains_key(header::IF_RANGE);
    !is_doubted && precondition::if_range_holds(&ask.fields, &representation(stored), ask.now)
}

/// Returns the strong validator of `stored`, if it has one.
pub fn strong_validator(stored: &Stored, now: Time) -> Option<HeaderValue> {
    let fields = (!stored.facts.is_weakly_known).then(|| stored.fields.unpack(0))?;
    partial::strong_validator(&fields, now)
}

/// Whether parts with the fields `new` may be combined with `stored`.
pub fn is_combinable(stored: &Stored, new: &HeaderMap, now: Time) -> bool {
    !stored.facts.is_weakly_known && partial::combinable(&stored.fields.unpack(0), new, now)
}

/// Evaluates the client's own conditions on an answer with a 2xx status (RFC 9110 sections 13.2.1 and 13.2.2).
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
    let is_about_form = matches!(then, Then::Encode(_) | Then::Decode(_));
    // `If-Match` is about the origin's own tag.
    if is_about_form && !ask.fields.contains_key(header::IF_MATCH) {
        // A client that holds the origin's bytes does not hold what would be sent (RFC 9110 section 8.8.3.3).
        representation.etag = of_form.as_ref().map(HeaderValue::as_bytes);
    }
    if is_new {
        // Its `Date` says when it came. Only that of a stored response says since when it has not changed (RFC 9111
        // section 4.3.2).
        representation.date = None;
    }
    match precondition::judge(&ask.method, &ask.fields, &representation, ask.now) {
        precondition::Verdict::NotModified => {}
        precondition::Verdict::Proceed if matches!(then, Then::NotModified(_)) => {}
        // No condition for the origin fails here: that was checked before (`Bypassed::Condition`). It is not ours to
        // judge.
        precondition::Verdict::Proceed | precondition::Verdict::Failed => return None,
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

/// Returns an answer without content. A body that is on its way is still wanted.
fn empty(status: StatusCode, reader: Option<&Reader>) -> Shaped {
    if let Some(reader) = reader {
        reader.keep();
    }
    Shaped {
        status,
        content: Content::Empty,
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
        // A 204 never has one (RFC 9110 section 8.6).
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
        // Lookup lets parts through only for requests that they cover: requests for a part, which `part` has answered,
        // and all others if nothing is missing.
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) | Body::Disk(_) | Body::Parts(_) => {
            stored
                .body
                .in_one()
                .map_or_else(|| Content::all_of(&stored.body), Content::Whole)
        }
    };
    Shaped { status, content }
}
