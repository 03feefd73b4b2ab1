//! The client's own conditions, judged against the answer that we would send (RFC 9110 section 13).

use crate::{
    etag::{EntityTag, Listed, joins_parts},
    fields::DIGESTS,
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

/// What a representation, stored or just fetched, offers to compare with.
#[derive(Clone, Copy, Debug)]
pub struct Representation<'a> {
    /// The value of `ETag`.
    pub etag: Option<&'a [u8]>,
    /// The value of `Last-Modified`.
    pub last_modified: Option<&'a [u8]>,
    /// Stands in for `Last-Modified` if that is absent. For a stored response it is `Date` or the time of receipt (RFC
    /// 9111 section 4.3.2); for an answer that just came from its origin it is `None` (RFC 9110 section 13.1.3).
    /// [`if_range_holds`] also measures `Last-Modified` against it: with `None` no date holds.
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

/// What a request's conditions come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no condition, or it holds: send the response.
    Proceed,
    /// `If-None-Match` or `If-Modified-Since` says that the client has this representation: send 304.
    NotModified,
    /// `If-Match` or `If-Unmodified-Since` does not hold for this representation. These two address the origin (RFC
    /// 9111 section 4.3.2). If the answer comes straight from the origin, send 412. If it is a stored one, ask the
    /// origin, which may have the representation that the client means.
    Failed,
}

/// Whether the request has any precondition field. Cheap.
pub fn any(request: &HeaderMap) -> bool {
    request.keys().any(|name| {
        matches!(
            *name,
            IF_NONE_MATCH | IF_MODIFIED_SINCE | IF_RANGE | IF_MATCH | IF_UNMODIFIED_SINCE
        )
    })
}

/// Judges the request's conditions by steps 1 to 4 of RFC 9110 section 13.2.2, in order, for GET and HEAD. Comparison
/// is weak for `If-None-Match` and strong for `If-Match`. Other methods proceed: the origin judges their conditions.
///
/// Call it only for a response that would otherwise be sent with a 2xx status (section 13.2.1). If the representation
/// has no `Last-Modified`, `If-Modified-Since` is compared with [`Representation::date`].
pub fn judge(
    method: &Method,
    request: &HeaderMap,
    representation: &Representation<'_>,
    now: Time,
) -> Verdict {
    if !is_retrieval(method) {
        return Verdict::Proceed;
    }
    if !holds_for_origin(request, representation, now) {
        return Verdict::Failed;
    }
    if has_current_copy(request, representation, now) {
        return Verdict::NotModified;
    }
    Verdict::Proceed
}

/// Steps 1 and 2: `If-Match`, otherwise `If-Unmodified-Since` (sections 13.1.1 and 13.1.4).
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

/// Steps 3 and 4: `If-None-Match`, otherwise `If-Modified-Since` (sections 13.1.2 and 13.1.3).
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

/// Returns the date in a field that has one line with a valid date; other fields are ignored (sections 13.1.3 and
/// 13.1.4).
fn only_date(request: &HeaderMap, name: HeaderName, now: Time) -> Option<Time> {
    let mut lines = request.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (Some(only), None) => Time::parse(only.as_bytes(), now),
        _ => None,
    }
}

/// Whether `Range` is to be honoured in view of `If-Range` (section 13.1.5). True without `If-Range`.
///
/// `If-Range` holds if its tag equals the representation's by strong comparison, or if it is the exact date of a
/// `Last-Modified` that is a strong validator: at least a minute before `Date` (section 8.8.2.2). Whether that `Date`
/// came with the content is for the caller to know.
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
            modified == date && known_since.is_some_and(|date| joins_parts(modified, date))
        });
    }
    match (EntityTag::parse(value), representation.tag()) {
        (Some(wanted), Some(tag)) => wanted.strong_eq(tag),
        _ => false,
    }
}

/// Metadata of the content besides its [digests](DIGESTS), which a 304 does not have (section 15.4.5).
const NOT_IN_304: [HeaderName; 5] = [
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    CONTENT_TYPE,
];

/// Turns the fields of a 200 into those of a 304 (section 15.4.5). It removes metadata of the content, and
/// `Last-Modified` if there is an `ETag`, which says it better. `Content-Location`, `Date`, `ETag`, `Vary`,
/// `Cache-Control`, `Expires` and all others stay.
pub fn trim_not_modified(fields: &mut HeaderMap) {
    for name in NOT_IN_304.iter().chain(&DIGESTS) {
        fields.remove(name);
    }
    if fields.contains_key(ETAG) {
        fields.remove(LAST_MODIFIED);
    }
}

#[cfg(test)]
mod tests;
