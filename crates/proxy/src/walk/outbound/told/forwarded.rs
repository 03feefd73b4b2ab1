//! What a trusted peer tells the origin in `Forwarded` (RFC 7239), as part of the key.
//!
//! Applications read it each in its own way: some take the first element, some the last, some the first `host=` wherever
//! it stands, some nothing at all if a part of it is malformed. So the field is keyed as it is written, and its text is
//! only split, not understood.

use crate::{
    ask::Key,
    policy::KeySpec,
    walk::outbound::forwarding::{left_of_forwarded, untold},
};
use http::{HeaderMap, HeaderValue, header::FORWARDED};
use rules::forwarded;
use std::net::Ipv6Addr;

/// What stands in the key for an address that is written as it must be. It is such a one itself: whoever writes it says
/// the same.
const ADDRESS: &[u8] = b"unknown";

/// Returns the lines that the origin gets, before ours is added.
pub fn lines(fields: &HeaderMap, spec: &KeySpec) -> Vec<HeaderValue> {
    match untold(spec) {
        [] => fields.get_all(FORWARDED).iter().cloned().collect(),
        names => left_of_forwarded(fields, names).into_iter().collect(),
    }
}

/// Whether each element says what the key says, and nothing else. It says all of it: an application that goes by one
/// element would take what that one lacks from the connection.
pub fn agrees(lines: &[HeaderValue], key: &Key, scheme: &str, spec: &KeySpec) -> bool {
    let mut elements = lines
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    elements.all(|element| {
        let element = element.strip_prefix(b" ").unwrap_or(element);
        let mut said = Vec::with_capacity(4);
        let is_true = element.split(|byte| *byte == b';').all(|part| {
            let (name, value) = name_and_value(part);
            let value = value.and_then(unquoted);
            let is_new = !said.contains(&name);
            said.push(name);
            is_new
                && value.is_some_and(|value| match name {
                    b"for" | b"by" => is_text(value, forwarded::is_node),
                    b"host" => value == key.host_bytes(),
                    b"proto" => value == scheme.as_bytes(),
                    _ => false,
                })
        });
        let says = |name: &str| said.contains(&name.as_bytes());
        is_true && (!spec.host || says("host")) && (!spec.scheme || says("proto"))
    })
}

/// Returns the line as written, but without the addresses of nodes: each client would have a store of its own.
///
/// Of an address that is not written as it must be, its spelling [stays](alike): which of them an application can read,
/// and whether it then reads the rest of the field, is its own affair. Anything else stays as it is; so does a line with
/// quotes that do not stand around a whole value, because nobody knows where its parts begin.
pub fn without_nodes(line: &[u8]) -> Vec<u8> {
    let elements = || line.split(|byte| *byte == b',');
    let mut parts = elements().flat_map(|element| element.split(|byte| *byte == b';'));
    if !parts.all(is_whole) {
        return line.to_vec();
    }
    let elements = elements().map(|element| {
        let parts = element.split(|byte| *byte == b';').map(without_node);
        parts.collect::<Vec<_>>().join(&b';')
    });
    elements.collect::<Vec<_>>().join(&b',')
}

/// Whether a part has no quotes, or two around its value, and no escape.
fn is_whole(part: &[u8]) -> bool {
    let plain = match name_and_value(part) {
        (name, Some(value)) => match value.trim_ascii() {
            [b'"', inner @ .., b'"'] => [name, inner].concat(),
            _ => part.to_vec(),
        },
        (name, None) => name.to_vec(),
    };
    !plain.iter().any(|byte| b"\"\\".contains(byte))
}

fn without_node(part: &[u8]) -> Vec<u8> {
    let (name, value) = name_and_value(part);
    let is_of_node = ["for", "by"]
        .iter()
        .any(|known| name.trim_ascii().eq_ignore_ascii_case(known.as_bytes()));
    let Some(value) = value.map(<[u8]>::trim_ascii).filter(|_| is_of_node) else {
        return part.to_vec();
    };
    if unquoted(value).is_some_and(|value| is_text(value, forwarded::is_node)) {
        return [name, b"=", ADDRESS].concat();
    }
    let (inner, quote): (_, &[u8]) = match value {
        [b'"', inner @ .., b'"'] => (inner, b"\""),
        _ => (value, b""),
    };
    match std::str::from_utf8(inner).ok().and_then(alike) {
        Some(alike) => [name, b"=", quote, alike.as_bytes(), quote].concat(),
        None => part.to_vec(),
    }
}

/// Returns the address that stands in the key for all that are spelled in the same way, where that is not as it must be.
/// `None` if the text is no address.
fn alike(text: &str) -> Option<&'static str> {
    forwarded::address(text).filter(|_| text.trim() == text)?;
    Some(match text.split_once(']') {
        _ if text.parse::<Ipv6Addr>().is_ok() => "::",
        Some((_, "")) => "[::]",
        Some(_) => "[::]:0",
        None => "0.0.0.0:0",
    })
}

fn is_text(bytes: &[u8], holds: impl Fn(&str) -> bool) -> bool {
    std::str::from_utf8(bytes).is_ok_and(holds)
}

/// Splits a part of an element at its first equals sign.
fn name_and_value(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut split = part.splitn(2, |byte| *byte == b'=');
    (split.next().unwrap_or_default(), split.next())
}

/// Returns a value without its quotes, or `None` if it must have some. No escape is understood: applications take the
/// quotes off, and most of them nothing else.
fn unquoted(value: &[u8]) -> Option<&[u8]> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    match value {
        [b'"', inner @ .., b'"'] => Some(inner),
        [] => None,
        _ => value.iter().all(is_plain).then_some(value),
    }
}

#[cfg(test)]
mod tests;
