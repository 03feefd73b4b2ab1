//! The client's own conditions, judged against the answer we would send (RFC 9110 section 13).

use crate::{
    etag::{EntityTag, Listed, is_strong_date},
    method::is_retrieval,
    time::Time,
};
use http::{
    HeaderMap, HeaderName, Method,
    header::{
        CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
        IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
    },
};

/// What the stored (or just fetched) representation offers to compare with.
#[derive(Clone, Copy, Debug)]
pub struct Representation<'a> {
    /// The value of `ETag`.
    pub etag: Option<&'a [u8]>,
    /// The value of `Last-Modified`.
    pub last_modified: Option<&'a [u8]>,
    /// What stands in for `Last-Modified` where there is none: of what is stored, its `Date` or the time of receipt (RFC 9111
    /// section 4.3.2); of an answer that just came from its origin, nothing (RFC 9110 section 13.1.3).
    pub date: Option<Time>,
}

impl Representation<'_> {
    fn tag(&self) -> Option<EntityTag<'_>> {
        self.etag.and_then(EntityTag::parse)
    }

    fn modified(&self, now: Time) -> Option<Time> {
        Time::parse(self.last_modified?, now)
    }
}

/// What the request's conditions come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No condition, or it holds: send the response.
    Proceed,
    /// `If-None-Match` or `If-Modified-Since` says that the client has it already: 304.
    NotModified,
    /// `If-Match` or `If-Unmodified-Since` does not hold for this representation. These two speak to the origin
    /// (RFC 9111 section 4.3.2): 412 where the answer comes straight from it, and where it is a stored one, the origin
    /// is the one to say so, for it may hold what the client means.
    Failed,
}

/// Whether the request carries any precondition field at all. Cheap.
pub fn any(request: &HeaderMap) -> bool {
    request.keys().any(|name| {
        matches!(
            *name,
            IF_NONE_MATCH | IF_MODIFIED_SINCE | IF_RANGE | IF_MATCH | IF_UNMODIFIED_SINCE
        )
    })
}

/// RFC 9110 section 13.2.2, steps 1 to 4, in order, for GET and HEAD; weak comparison for `If-None-Match`, strong for
/// `If-Match`. Other methods proceed: their conditions are the origin's to judge.
///
/// To be asked only of a response that would otherwise go out with a 2xx status (section 13.2.1). Where the
/// representation has no `Last-Modified`, `If-Modified-Since` is compared with [`Representation::date`].
pub fn judge(
    method: &Method,
    request: &HeaderMap,
    representation: &Representation<'_>,
    now: Time,
) -> Outcome {
    if !is_retrieval(method) {
        return Outcome::Proceed;
    }
    if !holds_for_origin(request, representation, now) {
        return Outcome::Failed;
    }
    if has_current_copy(request, representation, now) {
        return Outcome::NotModified;
    }
    Outcome::Proceed
}

/// Steps 1 and 2: `If-Match`, and `If-Unmodified-Since` only without it (sections 13.1.1 and 13.1.4).
fn holds_for_origin(request: &HeaderMap, representation: &Representation<'_>, now: Time) -> bool {
    if request.contains_key(IF_MATCH) {
        let tag = representation.tag();
        return Listed::read(request.get_all(IF_MATCH))
            .contains(|listed| tag.is_some_and(|tag| tag.strong_eq(listed)));
    }
    match (
        only_date(request, IF_UNMODIFIED_SINCE, now),
        representation.modified(now),
    ) {
        (Some(since), Some(modified)) => modified <= since,
        _ => true,
    }
}

/// Steps 3 and 4: `If-None-Match`, and `If-Modified-Since` only without it (sections 13.1.2 and 13.1.3).
fn has_current_copy(request: &HeaderMap, representation: &Representation<'_>, now: Time) -> bool {
    if request.contains_key(IF_NONE_MATCH) {
        let tag = representation.tag();
        return Listed::read(request.get_all(IF_NONE_MATCH))
            .contains(|listed| tag.is_some_and(|tag| tag.weak_eq(listed)));
    }
    let Some(since) = only_date(request, IF_MODIFIED_SINCE, now) else {
        return false;
    };
    let modified = match representation.last_modified {
        Some(_) => representation.modified(now),
        // A date has whole seconds.
        None => representation
            .date
            .map(|date| Time::from_secs(date.as_secs())),
    };
    modified.is_some_and(|modified| modified <= since)
}

/// The date of a field with one line that is a valid date; others are ignored (sections 13.1.3 and 13.1.4).
fn only_date(request: &HeaderMap, name: HeaderName, now: Time) -> Option<Time> {
    let mut lines = request.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (Some(only), None) => Time::parse(only.as_bytes(), now),
        _ => None,
    }
}

/// Whether `Range` is to be honoured in view of `If-Range` (section 13.1.5): strong tag equality, or the exact date of a
/// `Last-Modified` that is a strong validator, being at least a second before `Date` (section 8.8.2.2).
/// True without `If-Range`.
pub fn if_range_holds(request: &HeaderMap, representation: &Representation<'_>, now: Time) -> bool {
    let mut lines = request.get_all(IF_RANGE).iter();
    let value = match (lines.next(), lines.next()) {
        (None, _) => return true,
        (Some(only), None) => only.as_bytes(),
        (Some(_), Some(_)) => return false,
    };
    if let Some(date) = Time::parse(value, now) {
        return representation.modified(now).is_some_and(|modified| {
            let known_since = representation.date;
            modified == date && known_since.is_some_and(|date| is_strong_date(modified, date))
        });
    }
    match (EntityTag::parse(value), representation.tag()) {
        (Some(wanted), Some(tag)) => wanted.strong_eq(tag),
        _ => false,
    }
}

/// Metadata of the content, which a 304 does not carry (section 15.4.5).
const NOT_IN_304: [HeaderName; 7] = [
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    CONTENT_TYPE,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// Turns the fields of a 200 into those of a 304 (section 15.4.5): metadata of the content goes, and `Last-Modified` too
/// where an `ETag` says it better. `Content-Location`, `Date`, `ETag`, `Vary`, `Cache-Control`, `Expires` and all else stay.
pub fn trim_not_modified(fields: &mut HeaderMap) {
    for name in &NOT_IN_304 {
        fields.remove(name);
    }
    if fields.contains_key(ETAG) {
        fields.remove(LAST_MODIFIED);
    }
}

#[cfg(test)]
mod tests;
