//! What the origin is told about the client and the requested host: `X-Forwarded-*` and `Forwarded` (RFC 7239).

use super::trust::is_named;
use crate::{ask::Ask, policy::KeySpec};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, Entry, FORWARDED},
};
use rules::{fields::has, forwarded};

/// The client and the proxies in between: each proxy adds the address from which it got the request.
pub static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// A client whose address is not known (RFC 7239 section 6.2).
static UNKNOWN: HeaderValue = HeaderValue::from_static("unknown");

/// Whether the origin gets the field as it is written here, and not as the client sends or omits it.
pub fn is_written_anew(name: &HeaderName) -> bool {
    match *name {
        header::HOST | header::CONTENT_LENGTH | header::VIA | FORWARDED => true,
        _ => [&X_FORWARDED_FOR, &X_FORWARDED_PROTO].contains(&name),
    }
}

/// The host that the origin is asked for: the client's, or the site's if the client's is no part of the key.
pub struct Host<'a> {
    text: &'a [u8],
    /// As a field value. Mostly the client wrote it in just this way.
    value: Option<HeaderValue>,
    is_as_asked: bool,
}

impl<'a> Host<'a> {
    /// The host for the fetch of `ask`. Its text is empty if a client of HTTP/1.0 named none.
    pub fn of(ask: &'a Ask) -> Self {
        let policy = ask.policy();
        if !policy.key.host {
            let host = policy.to_origin.host.as_ref();
            return Self {
                text: host.map(HeaderValue::as_bytes).unwrap_or_default(),
                // A configuration without a host is refused. Even without one, no origin would be asked for the
                // client's.
                value: Some(host.cloned().unwrap_or(HeaderValue::from_static(""))),
                is_as_asked: false,
            };
        }
        let text = ask.key.host_bytes();
        let line = ask.fields.get(header::HOST);
        let line = line.filter(|line| line.as_bytes() == text);
        // A client of HTTP/1.0 may name no host: then the origin is called by its own name.
        let named = || {
            HeaderValue::from_bytes(text)
                .ok()
                .filter(|name| !name.is_empty())
        };
        Self {
            text,
            value: line.cloned().or_else(named),
            is_as_asked: line.is_some(),
        }
    }

    /// Returns the host as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.text).unwrap_or_default()
    }

    /// Returns the value of `Host`, unless the field is already there.
    pub fn written_anew(self) -> Option<HeaderValue> {
        self.value.filter(|_| !self.is_as_asked)
    }
}

/// Writes `X-Forwarded-*` and `Forwarded` (RFC 7239). What a trusted peer says is kept and added to; anything else is
/// replaced. What other peers said has already been removed, and so has what names a host or scheme that is not keyed.
/// If a trusted peer names the client in only one of the two ways, the other is not begun: it would name the peer in
/// the client's place (RFC 7239 section 7.4).
pub fn tell(fields: &mut HeaderMap, ask: &Ask, host: &Host<'_>) {
    let key = &ask.policy().key;
    let scheme = key.scheme.then_some(ask.scheme);
    if !is_named(ask, &FORWARDED) {
        leave_out(fields, untold(key));
    }
    // If a proxy does not say for whom it asks, the client is not this machine, on which that proxy may run.
    let client = if ask.receipt.connection.peer_asks {
        ask.receipt.connection.address()
    } else {
        Some(&UNKNOWN)
    };
    if let Some(address) = client {
        let named = [&X_FORWARDED_FOR, &FORWARDED].map(|name| has(fields, name));
        if named != [false, true] {
            add(fields, &X_FORWARDED_FOR, address.clone());
        }
        if named != [true, false]
            && let Some(element) = ask
                .receipt
                .connection
                .texts
                .element(scheme, host.text, || element(scheme, host.text, address))
        {
            add(fields, &FORWARDED, element);
        }
    }
    if let Some(scheme) = scheme {
        fields.insert(&X_FORWARDED_PROTO, HeaderValue::from_static(scheme));
    } else if !is_named(ask, &X_FORWARDED_PROTO) {
        fields.remove(&X_FORWARDED_PROTO);
    }
    if let Some(host) = &host.value
        && !has(fields, &X_FORWARDED_HOST)
    {
        fields.append(&X_FORWARDED_HOST, host.clone());
    }
}

/// The parameters of `Forwarded` that name what is not keyed.
pub(super) const fn untold(key: &KeySpec) -> &'static [&'static str] {
    match (key.host, key.scheme) {
        (true, true) => &[],
        (false, true) => &["host"],
        (true, false) => &["proto"],
        (false, false) => &["host", "proto"],
    }
}

/// Removes these parameters from what other proxies say, and everything that cannot be read.
fn leave_out(fields: &mut HeaderMap, names: &[&str]) {
    if names.is_empty() || !has(fields, &FORWARDED) {
        return;
    }
    match left_of_forwarded(fields, names) {
        Some(line) => drop(fields.insert(FORWARDED, line)),
        None => drop(fields.remove(FORWARDED)),
    }
}

/// Returns, as one line, what other proxies say without these parameters.
pub(super) fn left_of_forwarded(fields: &HeaderMap, names: &[&str]) -> Option<HeaderValue> {
    let lines = fields.get_all(FORWARDED).iter();
    let lines = lines.map(HeaderValue::as_bytes);
    let elements = lines.flat_map(forwarded::elements).flatten();
    let kept: Vec<_> = elements
        .filter_map(|element| element.without(names))
        .collect();
    let line = HeaderValue::try_from(kept.join(", "));
    line.ok().filter(|line| !line.is_empty())
}

/// Returns the element of `Forwarded` for this hop (RFC 7239 section 4). `address` is the peer's.
fn element(scheme: Option<&str>, host: &[u8], address: &HeaderValue) -> Option<HeaderValue> {
    let (open, close) = if address.as_bytes().contains(&b':') {
        ("\"[", "]\"")
    } else {
        ("", "")
    };
    let (host_is, host_ends) = if host.is_empty() {
        ("", "")
    } else {
        (";host=\"", "\"")
    };
    let pieces: [&[u8]; 9] = [
        b"for=",
        open.as_bytes(),
        address.as_bytes(),
        close.as_bytes(),
        host_is.as_bytes(),
        host,
        host_ends.as_bytes(),
        scheme.map_or(b"", |_| b";proto="),
        scheme.unwrap_or_default().as_bytes(),
    ];
    let mut element = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        element.extend_from_slice(piece);
    }
    HeaderValue::try_from(element).ok()
}

/// Joins the lines of a list field to one, with one more member: `last`. They stay bytes. Empty members are removed: a
/// sender must not write them (RFC 9110 section 5.6.1.1).
fn add(fields: &mut HeaderMap, name: &'static HeaderName, last: HeaderValue) {
    if !has(fields, name) {
        fields.append(name, last);
        return;
    }
    let Entry::Occupied(mut lines) = fields.entry(name) else {
        return;
    };
    let before = lines.iter().map(|line| without_empty_ends(line.as_bytes()));
    let before = before.filter(|line| !line.is_empty());
    let before = before.flat_map(|line| [line, b", "]);
    let all: Vec<&[u8]> = before.chain([last.as_bytes()]).collect();
    if let Ok(all) = HeaderValue::try_from(all.concat()) {
        lines.insert(all);
    }
}

/// Returns a line of a list without the empty members at its ends.
fn without_empty_ends(mut line: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b',', rest @ ..] | [rest @ .., b' ' | b'\t' | b','] = line {
        line = rest;
    }
    line
}
