//! `Forwarded` (RFC 7239): what proxies say about the sender of a request.
//!
//! ```text
//! Forwarded         = 1#forwarded-element
//! forwarded-element = [ forwarded-pair ] *( ";" [ forwarded-pair ] )
//! forwarded-pair    = token "=" ( token / quoted-string )
//! ```
//! Each proxy appends to what it received, and anybody may have written what is there already. Nothing that a client
//! writes may keep the proxies' words from being read. So lines are read from their end, and as bytes.

pub mod as_written;

use crate::vary::member::{Unquoted, is_token};
use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// What one proxy says: its parameters in order, with their values as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element<'a>(Vec<(&'a str, &'a str)>);

/// Returns the elements of one line, the first proxy's first. An element that is malformed, or not text, is `None`.
pub fn elements(line: &[u8]) -> Vec<Option<Element<'_>>> {
    let mut found = Vec::new();
    let mut rest = Some(line);
    while let Some(line) = rest {
        let (before, last) = split_last(line);
        if !last.trim_ascii().is_empty() {
            found.push(Element::read(last));
        }
        rest = before;
    }
    found.reverse();
    found
}

/// Splits a line into what precedes its last comma, and the last element. A quoted string that is never closed, or
/// never opened, belongs to whoever wrote it: it reaches to the beginning of the line, and over no element after it.
fn split_last(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let mut quoted = false;
    for (index, &byte) in line.iter().enumerate().rev() {
        match byte {
            b'"' if quoted => quoted = line.get(..index).is_some_and(ends_in_escape),
            b'"' => quoted = true,
            b',' if !quoted => {
                return (line.get(..index), line.get(index + 1..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (None, line)
}

/// Whether a quotation mark that follows this text of a quoted string is escaped.
fn ends_in_escape(text: &[u8]) -> bool {
    let marks = text.iter().rev().take_while(|byte| **byte == b'\\');
    marks.count() % 2 == 1
}

impl<'a> Element<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in Unquoted::new(text, b';') {
            let part = part?.trim_ascii();
            if part.is_empty() {
                continue;
            }
            let (name, value) = std::str::from_utf8(part).ok()?.split_once('=')?;
            let is_known = pairs
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name));
            if is_known || !is_token(name.as_bytes()) || !is_value(value.as_bytes()) {
                // "Each parameter MUST NOT occur more than once" (section 4).
                return None;
            }
            pairs.push((name, value));
        }
        Some(Self(pairs))
    }

    /// The value of a parameter, whose name is case-insensitive.
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut pairs = self.0.iter();
        let (_, value) = pairs.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(unquoted(value))
    }

    /// The element as written, without these parameters; `None` if nothing is left.
    pub fn without(&self, names: &[&str]) -> Option<String> {
        let is_kept = |name: &str| names.iter().all(|gone| !gone.eq_ignore_ascii_case(name));
        let kept = self.0.iter().filter(|(name, _)| is_kept(name));
        let kept: Vec<_> = kept
            .map(|(name, value)| [name, "=", value].concat())
            .collect();
        (!kept.is_empty()).then(|| kept.join(";"))
    }
}

/// Parses the address of a node (section 6), with or without a port: `192.0.2.7`, `192.0.2.7:4711`,
/// `[2001:db8::1]:443`.
///
/// An IPv4 address that is written as IPv6 is an IPv4 address. Bare IPv6 is accepted too, because `X-Forwarded-For` has
/// it. Returns `None` for a name that hides the address (`unknown`, `_x`), and for what cannot be read.
pub fn address(node: &str) -> Option<IpAddr> {
    let node = node.trim();
    let address = match node.parse() {
        Ok(address) => address,
        Err(_) => match node
            .strip_prefix('[')
            .and_then(|inner| inner.split_once(']'))
        {
            Some((inner, rest)) if is_port(rest) => IpAddr::V6(inner.parse().ok()?),
            Some(_) => return None,
            None => {
                let at = node.find(':')?;
                let (address, port) = node.split_at_checked(at)?;
                IpAddr::V4(address.parse().ok().filter(|_| is_port(port))?)
            }
        },
    };
    Some(address.to_canonical())
}

/// Whether the text is a node (section 6): an address, `unknown`, or a name that hides it, perhaps with a port.
pub fn is_node(text: &str) -> bool {
    let is_name = |name: &str| {
        name == "unknown"
            || name.parse::<Ipv4Addr>().is_ok()
            || name.strip_prefix('_').is_some_and(is_obfuscated)
    };
    if let Some(inner) = text.strip_prefix('[') {
        let split = inner.split_once(']');
        return split
            .is_some_and(|(address, port)| address.parse::<Ipv6Addr>().is_ok() && is_port(port));
    }
    let end = text.find(':').unwrap_or(text.len());
    let split = text.split_at_checked(end);
    split.is_some_and(|(name, port)| is_name(name) && is_port(port))
}

/// Whether the text is empty, or a port after its colon (`node-port`, section 6).
fn is_port(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else {
        return text.is_empty();
    };
    // `u16::from_str` accepts a sign. A port beyond its largest is none, whatever the grammar says.
    let is_number = (1..=5).contains(&port.len())
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok();
    is_number || port.strip_prefix('_').is_some_and(is_obfuscated)
}

fn is_obfuscated(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Whether the value is a token or a quoted string. [`Unquoted`] has checked that the string is closed.
fn is_value(value: &[u8]) -> bool {
    match value {
        [b'"', inner @ .., b'"'] => ends_unquoted(inner),
        _ => is_token(value),
    }
}

/// Whether `inner` has no unescaped quotation mark, and no unescaped backslash at its end.
fn ends_unquoted(inner: &[u8]) -> bool {
    let mut escaped = false;
    for &byte in inner {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return false,
            _ => {}
        }
    }
    !escaped
}

fn unquoted(value: &str) -> Cow<'_, str> {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inner {
        None => Cow::Borrowed(value),
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        Some(inner) => {
            let mut plain = String::with_capacity(inner.len());
            let mut characters = inner.chars();
            while let Some(character) = characters.next() {
                let meant = match character {
                    '\\' => characters.next(),
                    other => Some(other),
                };
                plain.extend(meant);
            }
            Cow::Owned(plain)
        }
    }
}

#[cfg(test)]
mod tests;
