//! `Forwarded` as it is written, for a key: an application may read a malformed line in its own way, so a line is only
//! split, not understood.

use super::{address, is_node};
use std::net::Ipv6Addr;

/// What stands in the key for an address that is written as it must be. It is such a one itself: whoever writes it says
/// the same.
const ADDRESS: &[u8] = b"unknown";

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
    if unquoted(value).is_some_and(names_node) {
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
    address(text).filter(|_| text.trim() == text)?;
    Some(match text.split_once(']') {
        _ if text.parse::<Ipv6Addr>().is_ok() => "::",
        Some((_, "")) => "[::]",
        Some(_) => "[::]:0",
        None => "0.0.0.0:0",
    })
}

/// Whether a value without quotes [is a node](is_node).
pub fn names_node(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(is_node)
}

/// Splits a part of an element at its first equals sign.
pub fn name_and_value(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut split = part.splitn(2, |byte| *byte == b'=');
    (split.next().unwrap_or_default(), split.next())
}

/// Returns a value without its quotes, or `None` if it must have some. No escape is understood: applications take the
/// quotes off, and most of them nothing else.
pub fn unquoted(value: &[u8]) -> Option<&[u8]> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    match value {
        [b'"', inner @ .., b'"'] => Some(inner),
        [] => None,
        _ => value.iter().all(is_plain).then_some(value),
    }
}

#[cfg(test)]
mod tests;
