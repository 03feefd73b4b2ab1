//! What the origin is told of the client and of the host asked for: `X-Forwarded-*` and `Forwarded` (RFC 7239).

use crate::ask::Ask;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, Entry, FORWARDED},
};

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The host that the request is for.
pub struct Host<'a> {
    text: &'a str,
    /// As the value of a field. Mostly the client wrote it just so.
    value: Option<HeaderValue>,
    is_as_asked: bool,
}

impl<'a> Host<'a> {
    pub fn of(ask: &'a Ask) -> Self {
        let text = ask.host();
        let line = ask.fields.get(header::HOST).filter(|line| *line == text);
        Self {
            text,
            value: line.cloned().or_else(|| HeaderValue::from_str(text).ok()),
            is_as_asked: line.is_some(),
        }
    }

    /// The value of `Host`, where the field is not there already.
    pub fn written_anew(self) -> Option<HeaderValue> {
        self.value.filter(|_| !self.is_as_asked)
    }
}

/// `X-Forwarded-*` and `Forwarded` (RFC 7239): what a trusted peer says stays and is added to, anything else is replaced.
/// What anybody else said is gone already. Where that peer names the client in one of the two ways alone, the other is not begun: it
/// would name the peer in the client's place (RFC 7239 section 7.4).
pub fn tell(fields: &mut HeaderMap, ask: &Ask, host: &Host<'_>) {
    if let Some(address) = ask.connection.address() {
        let named = [&X_FORWARDED_FOR, &FORWARDED].map(|name| fields.contains_key(name));
        if named != [false, true] {
            add(fields, &X_FORWARDED_FOR, address.clone());
        }
        if named != [true, false]
            && let Some(element) = ask.connection.texts.element(ask.scheme, host.text, || {
                element(ask.scheme, host.text, address)
            })
        {
            add(fields, &FORWARDED, element);
        }
    }
    let scheme = HeaderValue::from_static(ask.scheme);
    fields.insert(&X_FORWARDED_PROTO, scheme);
    if let Some(host) = &host.value {
        fields
            .entry(&X_FORWARDED_HOST)
            .or_insert_with(|| host.clone());
    }
}

/// What `Forwarded` says of this hop (RFC 7239 section 4); `address` is the peer's.
fn element(scheme: &str, host: &str, address: &HeaderValue) -> Option<HeaderValue> {
    let (open, close) = if address.as_bytes().contains(&b':') {
        ("\"[", "]\"")
    } else {
        ("", "")
    };
    let pieces: [&[u8]; 8] = [
        b"for=",
        open.as_bytes(),
        address.as_bytes(),
        close.as_bytes(),
        b";host=\"",
        host.as_bytes(),
        b"\";proto=",
        scheme.as_bytes(),
    ];
    let mut element = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        element.extend_from_slice(piece);
    }
    HeaderValue::try_from(element).ok()
}

/// Makes the lines of a list field one, with one more member: `last`.
fn add(fields: &mut HeaderMap, name: &'static HeaderName, last: HeaderValue) {
    let mut lines = match fields.entry(name) {
        Entry::Occupied(lines) => lines,
        Entry::Vacant(place) => {
            place.insert(last);
            return;
        }
    };
    let before = lines.iter().filter_map(|line| line.to_str().ok());
    let before = before.flat_map(|line| [line.as_bytes(), b", "]);
    let all: Vec<&[u8]> = before.chain([last.as_bytes()]).collect();
    if let Ok(all) = HeaderValue::try_from(all.concat()) {
        lines.insert(all);
    }
}
