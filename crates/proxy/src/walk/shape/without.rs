//! Fields that an answer goes without, since they describe what it does not bring.

use crate::ask::Ask;
use http::{HeaderMap, HeaderName, header};
use rules::fields::remove_where;

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
pub(super) fn without_page(ask: &Ask, fields: &mut HeaderMap) {
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
