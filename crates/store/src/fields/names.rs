//! Well-known field names, and the byte that each is stored as.

use http::{HeaderName, header};
use std::sync::LazyLock;

/// Names that are stored as their index plus one. The list may only grow, and its order is fixed: tiers below memory
/// keep packed fields.
pub(super) static KNOWN: [HeaderName; 40] = [
    header::ACCEPT_RANGES,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    header::ACCESS_CONTROL_MAX_AGE,
    header::AGE,
    header::ALLOW,
    header::ALT_SVC,
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_SECURITY_POLICY,
    header::CONTENT_TYPE,
    header::DATE,
    header::ETAG,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::LINK,
    header::LOCATION,
    header::PRAGMA,
    header::REFERRER_POLICY,
    header::RETRY_AFTER,
    header::SERVER,
    header::SET_COOKIE,
    header::STRICT_TRANSPORT_SECURITY,
    header::TRAILER,
    header::VARY,
    header::VIA,
    header::WARNING,
    header::WWW_AUTHENTICATE,
    header::X_CONTENT_TYPE_OPTIONS,
    header::X_DNS_PREFETCH_CONTROL,
    header::X_FRAME_OPTIONS,
    header::X_XSS_PROTECTION,
];

/// The code before a name that is spelled out.
pub(super) const SPELLED: u8 = 0;

/// The names of [`KNOWN`] with their codes, by length: few names are equally long.
static BY_LENGTH: LazyLock<Vec<Vec<(&'static HeaderName, u8)>>> = LazyLock::new(|| {
    let longest = KNOWN.iter().map(|name| name.as_str().len()).max();
    let lengths = 0..=longest.unwrap_or_default();
    let coded = || KNOWN.iter().zip(SPELLED + 1..);
    let of = |length| coded().filter(move |(name, _)| name.as_str().len() == length);
    lengths.map(|length| of(length).collect()).collect()
});

/// The code of `name`, if it is well known.
pub(super) fn code(name: &HeaderName) -> Option<u8> {
    let mut as_long = BY_LENGTH.get(name.as_str().len())?.iter();
    let (_, code) = as_long.find(|(known, _)| *known == name)?;
    Some(*code)
}
