//! Field lists: hop-by-hop, connection options, never stored (RFC 9110 section 7.6.1, RFC 9111 section 3.1).

use crate::{
    directives::{Qualified, ResponseDirectives},
    freshness, surrogate,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode, Version,
    header::{self, CONNECTION, VIA},
};

/// Fields of the proxy a cache fetches through, which MUST NOT be stored (RFC 9111 section 3.1).
static OF_PROXIES: [HeaderName; 3] = [
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    header::PROXY_AUTHORIZATION,
];

/// Fields that are meant for all recipients, beside those that [decide](decides). A sender MUST NOT name them in `Connection` (RFC
/// 9110 section 7.6.1); where one does so all the same, they go like any other, and with them what tells which response is for whom, and
/// for how long. So nothing of such an exchange is stored, nor answered from the store.
static END_TO_END: [HeaderName; 20] = [
    header::AGE,
    header::AUTHORIZATION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::ETAG,
    header::FORWARDED,
    header::HOST,
    header::LAST_MODIFIED,
    header::LOCATION,
    header::PRAGMA,
    header::RANGE,
    header::SET_COOKIE,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-proto"),
];

/// Whether a byte may stand in a token (RFC 9110 section 5.6.2).
pub(crate) const fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~'
        )
}

/// Whether a `Content-Type` is that of an event stream, which ends when one side has enough of it (HTML, section 9.2).
pub fn is_event_stream(kind: &[u8]) -> bool {
    media_type(kind).eq_ignore_ascii_case(b"text/event-stream")
}

/// A `Content-Type` without its parameters (RFC 9110 section 8.3.1).
pub fn media_type(kind: &[u8]) -> &[u8] {
    let bare = kind.split(|byte| *byte == b';').next();
    bare.unwrap_or_default().trim_ascii()
}

/// Whether a value begins or ends with white space. Over HTTP/2 nothing takes that away, such a message is malformed, and an intermediary
/// must not forward it (RFC 9113 sections 8.1.1 and 8.2.1).
pub fn has_padded_value(fields: &HeaderMap) -> bool {
    fields.values().any(|value| {
        let (first, last) = (value.as_bytes().first(), value.as_bytes().last());
        matches!(first, Some(b' ' | b'\t')) || matches!(last, Some(b' ' | b'\t'))
    })
}

/// The lines of a message as bytes, in the order of its fields.
pub fn lines(fields: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = fields.iter();
    lines.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
}

/// As [`lines`], without what tells which part of the whole a message brings: as the whole would have them.
pub fn lines_of_whole(fields: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(fields).filter(|(name, _)| *name != b"content-range")
}

/// Removes `Connection`, every field it names, and the hop-by-hop fields, from a message about to be forwarded.
pub fn remove_hop_by_hop(fields: &mut HeaderMap) {
    forward(fields, |_| true);
}

/// As [`remove_hop_by_hop`], of an answer. One that switches protocols, or wants the client to, must say to which (RFC 9110 sections 7.8 and
/// 15.5.22).
pub fn remove_hop_by_hop_of_answer(status: StatusCode, fields: &mut HeaderMap) {
    let names_protocols = matches!(
        status,
        StatusCode::SWITCHING_PROTOCOLS | StatusCode::UPGRADE_REQUIRED
    );
    let protocols = fields.get(header::UPGRADE).cloned();
    remove_hop_by_hop(fields);
    if let Some(protocols) = protocols.filter(|_| names_protocols) {
        fields.insert(header::UPGRADE, protocols);
        fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

/// As [`remove_hop_by_hop`], of a request whose way is still to be found: fields that are meant for all recipients stay, since routes, keys
/// and trust rest on them as they came. Returns those that `Connection` names: they must not be sent on, and the store is bypassed.
pub fn remove_hop_by_hop_but_end_to_end(request: &mut HeaderMap) -> Box<[HeaderName]> {
    let (kept, gone): (Vec<_>, Vec<_>) = connection_options(request)
        .into_iter()
        .partition(is_end_to_end);
    for name in gone {
        request.remove(name);
    }
    remove_where(request, is_hop_by_hop);
    kept.into()
}

/// Whether `Connection` names a field that is meant for all recipients: the response was said to its own recipient alone.
pub fn names_end_to_end(response: &HeaderMap) -> bool {
    connection_options(response).iter().any(is_end_to_end)
}

/// Makes the fields of a message those that are forwarded: what [`remove_hop_by_hop`] leaves, and `stays` names.
pub fn forward(fields: &mut HeaderMap, stays: impl Fn(&HeaderName) -> bool) {
    for name in connection_options(fields) {
        fields.remove(name);
    }
    remove_where(fields, |name| is_hop_by_hop(name) || !stays(name));
}

/// As [`forward`], of a message that is still needed as it was: what is forwarded of it goes to `forwarded`.
pub fn forward_to(
    forwarded: &mut HeaderMap,
    fields: &HeaderMap,
    stays: impl Fn(&HeaderName) -> bool,
) {
    let options = connection_options(fields);
    for (name, value) in fields {
        if !is_hop_by_hop(name) && stays(name) && !options.contains(name) {
            forwarded.append(name.clone(), value.clone());
        }
    }
}

/// Whether two messages have the same lines of a field, in the same order.
pub(crate) fn same_lines(one: &HeaderMap, other: &HeaderMap, name: &HeaderName) -> bool {
    one.get_all(name).iter().eq(other.get_all(name))
}

/// Whether the field is there. Mostly it is not, and few others are, so that a look at each name is cheaper than the map's own search.
#[inline]
pub fn has(fields: &HeaderMap, name: &HeaderName) -> bool {
    if fields.keys_len() > FEW {
        return fields.contains_key(name);
    }
    fields.keys().any(|other| other == name)
}

/// Up to so many names are looked at one by one.
const FEW: usize = 16;

/// Whether a field concerns one connection only, whether `Connection` names it or not (RFC 9110 section 7.6.1). `Trailer` is
/// among them because trailers are not forwarded.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    match *name {
        CONNECTION | header::TE | header::TRAILER | header::TRANSFER_ENCODING | header::UPGRADE => {
            true
        }
        _ => matches!(name.as_str(), "keep-alive" | "proxy-connection"),
    }
}

/// Removes the fields for which `goes` holds. Most messages have none of them, which one look through their names tells.
pub fn remove_where(fields: &mut HeaderMap, goes: impl Fn(&HeaderName) -> bool) {
    while let Some(name) = fields.keys().find(|name| goes(name)).cloned() {
        fields.remove(name);
    }
}

/// The connection options of a message: the fields that `Connection` names.
fn connection_options(fields: &HeaderMap) -> Vec<HeaderName> {
    if !has(fields, &CONNECTION) {
        return Vec::new();
    }
    fields
        .get_all(CONNECTION)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        // `Keep-Alive` goes in any case.
        .filter(|option| !option.eq_ignore_ascii_case(b"keep-alive"))
        .filter_map(|option| HeaderName::from_bytes(option.trim_ascii()).ok())
        .filter(|name| fields.contains_key(name))
        .collect()
}

/// Whether the field is meant for all recipients.
fn is_end_to_end(name: &HeaderName) -> bool {
    decides(name) || END_TO_END.contains(name)
}

/// Whether a field decides whether, how long and for whom a response is stored, whichever of them a site heeds: it must be known as long
/// as the response is kept, for when that is judged anew.
pub fn decides(name: &HeaderName) -> bool {
    match *name {
        header::CACHE_CONTROL | header::EXPIRES | header::VARY => true,
        _ => name.as_str().ends_with("-cache-control") || DECIDING.contains(name),
    }
}

/// Fields of other caches that decide; see [`decides`].
static DECIDING: [HeaderName; 3] = [
    surrogate::CONTROL,
    freshness::REVERSE_PROXY_TTL,
    freshness::ACCEL_EXPIRES,
];

/// Whether a field must not be stored beyond hop-by-hop: those that `no-cache="…"` and `private="…"` name, and `Proxy-*` (RFC 9111
/// section 3.1).
pub fn is_unstorable(name: &HeaderName, directives: &ResponseDirectives) -> bool {
    let is_of_proxies = name.as_str().starts_with("proxy-") && OF_PROXIES.contains(name);
    let is_named = |list: &Qualified| list.names().contains(name);
    is_of_proxies || is_named(&directives.no_cache) || is_named(&directives.private)
}

/// Our element of `Via` (RFC 9110 section 7.6.3), written once: `1.1 larder` or the like, by the version that a message was received
/// in. Where the pseudonym is no token, none is added.
#[derive(Clone, Debug)]
pub struct Via(Vec<(Version, HeaderValue)>);

impl Via {
    /// The element of the intermediary with this pseudonym.
    pub fn new(pseudonym: &str) -> Self {
        let protocols = [
            (Version::HTTP_11, "1.1"),
            (Version::HTTP_2, "2.0"),
            (Version::HTTP_10, "1.0"),
            (Version::HTTP_3, "3.0"),
            (Version::HTTP_09, "0.9"),
        ];
        let elements = protocols.into_iter().filter_map(|(version, protocol)| {
            let element = HeaderValue::try_from(format!("{protocol} {pseudonym}"));
            Some((version, element.ok()?))
        });
        Self(elements.collect())
    }

    /// Appends it to the fields of a message that was received in `version`.
    pub fn append(&self, fields: &mut HeaderMap, version: Version) {
        let mut elements = self.0.iter();
        if let Some((_, element)) = elements.find(|(known, _)| *known == version) {
            fields.append(VIA, element.clone());
        }
    }
}

#[cfg(test)]
mod tests;
