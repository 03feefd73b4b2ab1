//! Which fields are hop-by-hop, connection options, or never stored (RFC 9110 section 7.6.1, RFC 9111 section 3.1).

mod media;
mod via;

pub(crate) use media::is_grpc;
pub use media::{begins_event_stream, is_event_stream, media_type};
pub use via::Via;

use crate::{
    directives::{Qualified, ResponseDirectives},
    freshness, surrogate,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{self, CONNECTION},
};

/// Fields that concern the proxy through which a cache fetches, and MUST NOT be stored (RFC 9111 section 3.1).
static OF_PROXIES: [HeaderName; 3] = [
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    header::PROXY_AUTHORIZATION,
];

/// Fields that are meant for all recipients, in addition to those that [decide](decides).
///
/// A sender MUST NOT name them in `Connection` (RFC 9110 section 7.6.1). If one does, they are removed like any other,
/// and with them what says for whom a response is, and for how long. So nothing of such an exchange is stored or
/// answered from the store.
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

/// Digests of the content of one message (RFC 9530 section 2, and `Content-MD5` before it).
pub static CONTENT_DIGESTS: [HeaderName; 2] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
];

/// All digests: those of [content](CONTENT_DIGESTS), and those of the whole representation (RFC 9530 section 3, and
/// `Digest` of RFC 3230 before it).
pub static DIGESTS: [HeaderName; 4] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
];

/// Whether a byte may stand in a token (RFC 9110 section 5.6.2).
pub(crate) const fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~'
        )
}

/// Whether a value begins or ends with white space. HTTP/2 does not strip it: such a message is malformed, and an
/// intermediary must not forward it (RFC 9113 sections 8.1.1 and 8.2.1).
pub fn has_padded_value(fields: &HeaderMap) -> bool {
    fields.values().any(|value| {
        let (first, last) = (value.as_bytes().first(), value.as_bytes().last());
        matches!(first, Some(b' ' | b'\t')) || matches!(last, Some(b' ' | b'\t'))
    })
}

/// Iterates over the lines of a message as bytes, in the order of its fields.
pub fn lines(fields: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = fields.iter();
    lines.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
}

/// As [`lines`], without `Content-Range`, which says which part a message brings: the lines that the whole would have.
pub fn lines_of_whole(fields: &HeaderMap) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(fields).filter(|(name, _)| *name != b"content-range")
}

/// Removes `Connection`, every field that it names, and the hop-by-hop fields from a message that is about to be
/// forwarded.
pub fn remove_hop_by_hop(fields: &mut HeaderMap) {
    forward(fields, |_| true);
}

/// As [`remove_hop_by_hop`], for a message over HTTP/2. What it says of its trailers stays: the protocol has them (RFC
/// 9113 sections 8.1 and 8.2.2).
pub fn remove_connection_specific(fields: &mut HeaderMap) {
    for name in connection_options(fields) {
        fields.remove(name);
    }
    remove_where(fields, |name| {
        is_hop_by_hop(name) && *name != header::TRAILER
    });
}

/// As [`remove_hop_by_hop`], for a response. One that switches protocols, or asks the client to, keeps `Upgrade`: it
/// must name the protocols (RFC 9110 sections 7.8 and 15.5.22).
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

/// As [`remove_hop_by_hop`], for a request that is not routed yet. Fields that are meant for all recipients stay, since
/// routes, keys and trust depend on them as they came. Returns those of them that `Connection` names: they must not be
/// sent on, and the store is bypassed.
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

/// Whether `Connection` names a field that is meant for all recipients. Such a response is for its own recipient alone.
pub fn names_end_to_end(response: &HeaderMap) -> bool {
    connection_options(response).iter().any(is_end_to_end)
}

/// Reduces the fields of a message to those that are forwarded: those that [`remove_hop_by_hop`] leaves and `stays`
/// accepts.
pub fn forward(fields: &mut HeaderMap, stays: impl Fn(&HeaderName) -> bool) {
    for name in connection_options(fields) {
        fields.remove(name);
    }
    remove_where(fields, |name| is_hop_by_hop(name) || !stays(name));
}

/// As [`forward`], for a message that is still needed unchanged: copies the fields that are forwarded to `forwarded`.
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

/// Whether the field is present. Most messages have few fields and not this one, so comparing each name is cheaper than
/// the map's own search.
#[inline]
pub fn has(fields: &HeaderMap, name: &HeaderName) -> bool {
    if fields.keys_len() > FEW {
        return fields.contains_key(name);
    }
    fields.keys().any(|other| other == name)
}

/// Up to this many names are compared one by one.
const FEW: usize = 16;

/// Whether a field concerns one connection only, even if `Connection` does not name it (RFC 9110 section 7.6.1).
/// `Trailer` is among them because trailers need not be forwarded.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    match *name {
        CONNECTION | header::TE | header::TRAILER | header::TRANSFER_ENCODING | header::UPGRADE => {
            true
        }
        _ => matches!(name.as_str(), "keep-alive" | "proxy-connection"),
    }
}

/// Whether a field may stand in trailers (RFC 9110 section 6.5.1). One that frames, routes, guards or bounds a message,
/// or says how its content is read and kept, is needed before that: a recipient that takes it from there is deceived.
pub fn may_trail(name: &HeaderName) -> bool {
    let is_condition = name.as_str().starts_with("if-");
    let is_of_heads = is_condition || OF_PROXIES.contains(name) || OF_HEADS.contains(name);
    !(is_of_heads || is_hop_by_hop(name) || is_end_to_end(name))
}

/// Returns the value of `Trailer` that names, of what a message with these fields says will trail, what [may](may_trail)
/// and `passes`; `None` if that is nothing (RFC 9110 section 6.6.2).
pub fn trailing_names(
    fields: &HeaderMap,
    passes: impl Fn(&HeaderName) -> bool,
) -> Option<HeaderValue> {
    let lines = fields.get_all(header::TRAILER).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let names: Vec<_> = names
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .filter(|name| may_trail(name) && passes(name))
        .collect();
    if names.is_empty() {
        return None;
    }
    HeaderValue::try_from(names.join(", ")).ok()
}

/// Fields that stand in a head alone, in addition to those that are [meant for all recipients](is_end_to_end).
static OF_HEADS: [HeaderName; 5] = [
    header::EXPECT,
    header::MAX_FORWARDS,
    header::RETRY_AFTER,
    header::WARNING,
    header::WWW_AUTHENTICATE,
];

/// Removes the fields for which `goes` holds. Most messages have none of them, and one pass over the names shows that.
pub fn remove_where(fields: &mut HeaderMap, goes: impl Fn(&HeaderName) -> bool) {
    while let Some(name) = fields.keys().find(|name| goes(name)).cloned() {
        fields.remove(name);
    }
}

/// Returns the connection options of a message: the fields that `Connection` names and the message has.
fn connection_options(fields: &HeaderMap) -> Vec<HeaderName> {
    if !has(fields, &CONNECTION) {
        return Vec::new();
    }
    fields
        .get_all(CONNECTION)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        // `Keep-Alive` is removed in any case.
        .filter(|option| !option.eq_ignore_ascii_case(b"keep-alive"))
        .filter_map(|option| HeaderName::from_bytes(option.trim_ascii()).ok())
        .filter(|name| fields.contains_key(name))
        .collect()
}

/// Whether the field is meant for all recipients.
fn is_end_to_end(name: &HeaderName) -> bool {
    decides(name) || END_TO_END.contains(name)
}

/// Whether a field can decide if, how long and for whom a response is stored, whether or not a site heeds it. Such a
/// field must be known as long as the response is kept, because that is judged anew.
pub fn decides(name: &HeaderName) -> bool {
    matches!(*name, header::CACHE_CONTROL | header::VARY) || gives_lifetime(name)
}

/// Whether some cache keeps a response as long as this field says, perhaps whatever `Cache-Control` says: `Expires`, a
/// targeted field (RFC 9213), or a field of one kind of cache. What must not be kept anywhere has none of them.
pub fn gives_lifetime(name: &HeaderName) -> bool {
    let is_targeted = name.as_str().ends_with("-cache-control");
    is_targeted || *name == header::EXPIRES || OF_SOME_CACHES.contains(name)
}

/// The lifetimes for one kind of cache: surrogates, the cache in front of the application, nginx, and Akamai.
static OF_SOME_CACHES: [HeaderName; 4] = [
    surrogate::CONTROL,
    freshness::REVERSE_PROXY_TTL,
    freshness::ACCEL_EXPIRES,
    HeaderName::from_static("edge-control"),
];

/// Whether a field must not be stored, apart from hop-by-hop fields: one that `no-cache="…"` or `private="…"` names, or
/// one of `Proxy-*` (RFC 9111 section 3.1).
pub fn is_unstorable(name: &HeaderName, directives: &ResponseDirectives) -> bool {
    let is_of_proxies = name.as_str().starts_with("proxy-") && OF_PROXIES.contains(name);
    let is_named = |list: &Qualified| list.names().contains(name);
    is_of_proxies || is_named(&directives.no_cache) || is_named(&directives.private)
}

#[cfg(test)]
mod tests;
