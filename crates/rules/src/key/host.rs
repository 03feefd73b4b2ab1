//! The host part of the key (RFC 9110 sections 4.2.3 and 7.2, RFC 3986 section 3.2.2).

use std::{borrow::Cow, net::Ipv6Addr};

/// Normalises a host for keying. Returns it borrowed if nothing changes; `None` if it is not valid (RFC 9110 section
/// 7.2).
///
/// The host becomes lower case and loses the scheme's default port and a trailing dot; an IPv6 address gets its one
/// short form. Not valid are user information, white space, control bytes, an empty name, and a port beyond 65535.
/// Percent-encoded names are refused as well: none resolves, and origins do not agree on their meaning. So are names
/// with a comma.
pub fn normalize_host<'a>(authority: &'a str, scheme: &str) -> Option<Cow<'a, str>> {
    let (name, port) = split_port(authority)?;
    let name = if begins_address(name) {
        let address = name.strip_prefix('[')?.strip_suffix(']')?;
        normalize_address(name, address)?
    } else {
        normalize_name(name)?
    };
    let digits = port.unwrap_or_default();
    if digits.is_empty() {
        return Some(name);
    }
    let port = port_number(digits)?;
    if is_default(port, scheme) {
        return Some(name);
    }
    let untouched = matches!(name, Cow::Borrowed(_))
        && name.len() + 1 + digits.len() == authority.len()
        && (digits.len() == 1 || !digits.starts_with('0'));
    if untouched {
        return Some(Cow::Borrowed(authority));
    }
    Some(Cow::Owned(format!("{name}:{port}")))
}

/// Splits an authority into its name and what follows the colon after it.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let end = if begins_address(authority) {
        authority.find(']')? + 1
    } else {
        let mut bytes = authority.bytes();
        let colon = bytes.position(|byte| byte == b':');
        colon.unwrap_or(authority.len())
    };
    let (name, rest) = authority.split_at_checked(end)?;
    if rest.is_empty() {
        return Some((name, None));
    }
    Some((name, Some(rest.strip_prefix(':')?)))
}

/// Whether the authority begins with an IPv6 address. It compares one byte, because every request has a host.
fn begins_address(authority: &str) -> bool {
    authority.as_bytes().first() == Some(&b'[')
}

/// Parses a port. Accepts digits only, unlike `parse`.
fn port_number(digits: &str) -> Option<u16> {
    digits.bytes().try_fold(0_u16, |port, byte| {
        let digit = byte.is_ascii_digit().then(|| u16::from(byte - b'0'))?;
        port.checked_mul(10)?.checked_add(digit)
    })
}

const fn is_default(port: u16, scheme: &str) -> bool {
    (port == 80 && scheme.eq_ignore_ascii_case("http"))
        || (port == 443 && scheme.eq_ignore_ascii_case("https"))
}

/// Normalises a registered name or an IPv4 address.
fn normalize_name(name: &str) -> Option<Cow<'_, str>> {
    let name = match name.as_bytes().last() {
        Some(b'.') => name.strip_suffix('.')?,
        _ => name,
    };
    // Every request has a name, so each byte is looked at only once.
    let kinds = name.bytes().fold(0, |kinds, byte| kinds | kind(byte));
    if kinds & OTHER != 0 || matches!(name.as_bytes().last(), None | Some(b'.')) {
        return None;
    }
    if kinds & UPPER != 0 {
        return Some(Cow::Owned(name.to_ascii_lowercase()));
    }
    Some(Cow::Borrowed(name))
}

/// A byte that no name has.
const OTHER: u8 = 1;

/// An upper-case byte of a name.
const UPPER: u8 = 2;

/// Returns the kind of a byte, as bits.
const fn kind(byte: u8) -> u8 {
    if byte.is_ascii_uppercase() {
        UPPER
    } else if is_name_byte(byte) {
        0
    } else {
        OTHER
    }
}

/// `unreserved` and `sub-delims` of RFC 3986 section 2, but for the comma: applications take what follows it in
/// `X-Forwarded-Host` for the host.
const fn is_name_byte(byte: u8) -> bool {
    super::is_unreserved(byte)
        || matches!(
            byte,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'='
        )
}

/// Normalises an IPv6 address, given with its brackets (`bracketed`) and without (`address`).
fn normalize_address<'a>(bracketed: &'a str, address: &str) -> Option<Cow<'a, str>> {
    let normal = format!("[{}]", address.parse::<Ipv6Addr>().ok()?);
    if normal == bracketed {
        return Some(Cow::Borrowed(bracketed));
    }
    Some(Cow::Owned(normal))
}
