//! What the answer to a HEAD request says about a stored response (RFC 9111 section 4.3.5).

use super::same_date;
use crate::{etag::EntityTag, fields, time::Time};
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, LAST_MODIFIED},
};

/// What the answer to a HEAD request says about a stored response to GET (RFC 9111 section 4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSays {
    /// It describes the same representation: [`freshen`](super::freshen()) the stored response.
    Freshen,
    /// It describes another representation: the stored response is stale from now on.
    Disqualify,
    /// It is not a 200, is of another coding, or has nothing to compare: the stored response stays as it is. Without
    /// evidence, freshening would keep a page that may have changed for as long as somebody sends HEAD requests.
    Nothing,
}

/// Judges the answer to a HEAD request against a stored response to GET that could have been chosen for the request.
/// `stored_length` is the length of the stored content, if known. `now` decides the century of a two-digit year.
pub fn head_says(
    status: StatusCode,
    head: &HeaderMap,
    stored: &HeaderMap,
    stored_length: Option<u64>,
    now: Time,
) -> HeadSays {
    if status != StatusCode::OK || !fields::same_lines(head, stored, &CONTENT_ENCODING) {
        return HeadSays::Nothing;
    }
    let tag = head.contains_key(ETAG).then(|| {
        let own = EntityTag::of(stored);
        own.is_some() && own == EntityTag::of(head)
    });
    let modified = head.get(LAST_MODIFIED).map(|value| {
        let own = stored.get(LAST_MODIFIED);
        own.is_some_and(|own| same_date(value, own, now))
    });
    let length = head.get(CONTENT_LENGTH).zip(stored_length);
    let length = length.map(|(value, own)| value.as_bytes() == own.to_string().as_bytes());
    let compared = [tag, modified, length];
    if compared.contains(&Some(false)) {
        HeadSays::Disqualify
    } else if compared.contains(&Some(true)) {
        HeadSays::Freshen
    } else {
        HeadSays::Nothing
    }
}

/// Whether the answer to a HEAD request shows, by a strong entity tag, that its content would be the very bytes that
/// are stored (RFC 9110 section 8.8.3.2). Two users' pages may agree in all else that [`head_says`] compares.
pub fn is_same_content(head: &HeaderMap, stored: &HeaderMap) -> bool {
    let tags = EntityTag::of(head).zip(EntityTag::of(stored));
    tags.is_some_and(|(one, other)| one.strong_eq(other))
}
