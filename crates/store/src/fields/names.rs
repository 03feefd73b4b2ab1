//! Well-known field names, and the byte that each is stored as.

use http::HeaderName;
use std::sync::LazyLock;

/// A well-known name. A `HeaderName` would have to look for its text.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: HeaderName,
    pub(super) text: &'static str,
}

const fn known(text: &'static str) -> Known {
    let name = HeaderName::from_static(text);
    Known { name, text }
}

/// Names that are stored as their index plus one. The list may only grow, and its order is fixed: tiers below memory
/// keep packed fields.
pub(super) static KNOWN: [Known; 40] = [
    known("accept-ranges"),
    known("access-control-allow-credentials"),
    known("access-control-allow-headers"),
    known("access-control-allow-methods"),
    known("access-control-allow-origin"),
    known("access-control-expose-headers"),
    known("access-control-max-age"),
    known("age"),
    known("allow"),
    known("alt-svc"),
    known("cache-control"),
    known("content-disposition"),
    known("content-encoding"),
    known("content-language"),
    known("content-length"),
    known("content-location"),
    known("content-range"),
    known("content-security-policy"),
    known("content-type"),
    known("date"),
    known("etag"),
    known("expires"),
    known("last-modified"),
    known("link"),
    known("location"),
    known("pragma"),
    known("referrer-policy"),
    known("retry-after"),
    known("server"),
    known("set-cookie"),
    known("strict-transport-security"),
    known("trailer"),
    known("vary"),
    known("via"),
    known("warning"),
    known("www-authenticate"),
    known("x-content-type-options"),
    known("x-dns-prefetch-control"),
    known("x-frame-options"),
    known("x-xss-protection"),
];

/// The code before a name that is spelled out.
pub(super) const SPELLED: u8 = 0;

/// The names of [`KNOWN`] with their codes, by length: few names are equally long.
static BY_LENGTH: LazyLock<Vec<Vec<(&'static HeaderName, u8)>>> = LazyLock::new(|| {
    let longest = KNOWN.iter().map(|known| known.text.len()).max();
    let lengths = 0..=longest.unwrap_or_default();
    let coded = || KNOWN.iter().map(|known| &known.name).zip(SPELLED + 1..);
    let of = |length| coded().filter(move |(name, _)| name.as_str().len() == length);
    lengths.map(|length| of(length).collect()).collect()
});

/// The code of `name`, if it is well known.
pub(super) fn code(name: &HeaderName) -> Option<u8> {
    let mut as_long = BY_LENGTH.get(name.as_str().len())?.iter();
    let (_, code) = as_long.find(|(known, _)| *known == name)?;
    Some(*code)
}
