//! Removes fields that describe what an answer does not bring.

use crate::ask::Ask;
use http::{HeaderMap, HeaderName, header};
use rules::fields::{CONTENT_DIGESTS, DIGESTS, gives_lifetime, remove_where};

/// Fields about the page besides its content, its digests and its lifetimes: validators, how caches and how browsers
/// use it.
const OF_PAGE: [HeaderName; 8] = [
    header::CACHE_CONTROL,
    header::PRAGMA,
    header::ETAG,
    header::LAST_MODIFIED,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LOCATION,
    header::LINK,
    header::REFRESH,
];

/// Removes all fields about the page: a cache that stores the answer must not take it for the page (RFC 9111 section
/// 3).
pub(super) fn without_page(ask: &Ask, fields: &mut HeaderMap) {
    without_content(fields);
    remove_where(fields, |name| {
        let is_listed = OF_PAGE.contains(name) || DIGESTS.contains(name);
        is_listed || gives_lifetime(name) || ask.site.targets.contains(name)
    });
}

/// Removes what holds for the whole content, since only a part is sent (RFC 9530 section 2).
pub fn without_digest(fields: &mut HeaderMap) {
    for name in &CONTENT_DIGESTS {
        fields.remove(name);
    }
}

/// Removes the fields that describe content which is not sent.
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
