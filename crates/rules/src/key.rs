//! The request target as bytes, and its normalisation (RFC 9110 section 4.2.3, RFC 3986 section 6.2.2).

mod host;
mod query;

pub use host::normalize_host;
pub use query::{ParamPattern, QueryChoice, TRACKING, choose_query, tracking};

use std::{borrow::Cow, fmt};

/// A target after normalisation: what is keyed is what is sent to the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Path as bytes, beginning with `/` (or `*`).
    pub path: String,
    /// Query without `?`; `None` where there was no `?`.
    pub query: Option<String>,
}

impl Target {
    /// Reads the target of a request line: origin form, absolute form (whose authority is left to [`normalize_host`]) or
    /// `*` (RFC 9112 section 3.2). With `strict`, bytes that no URI has are refused; otherwise they are kept as they are.
    pub fn parse(written: &str, strict: bool) -> Result<Self, BadTarget> {
        if strict && !is_strict(written) {
            return Err(BadTarget::Bytes);
        }
        let local = match written {
            "*" => written,
            _ if written.starts_with('/') => written,
            _ => after_authority(written).ok_or(BadTarget::Form)?,
        };
        let (path, query) = match local.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (local, None),
        };
        // An absolute form without a path means the root (RFC 9110 section 4.2.3).
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self {
            path: normalize(path).into_owned(),
            query: query.map(|query| normalize(query).into_owned()),
        })
    }
}

/// What follows the authority of an `http` or `https` URI: nothing, or a path, or a query.
fn after_authority(written: &str) -> Option<&str> {
    let (scheme, rest) = written.split_once("://")?;
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let (authority, local) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    (known && !authority.is_empty()).then_some(local)
}

/// Whether it is printable ASCII without `#` and each percent sign has its two hex digits.
fn is_strict(written: &str) -> bool {
    let bytes = written.as_bytes();
    bytes.iter().enumerate().all(|(index, &byte)| match byte {
        b'%' => triplet(bytes, index).is_some(),
        b'#' => false,
        _ => byte.is_ascii_graphic(),
    })
}

/// Why a target is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTarget {
    /// Not origin form, absolute form or `*`.
    Form,
    /// A percent sign without two hex digits, a control byte or a byte outside ASCII, where the site asks for strictness.
    Bytes,
}

impl fmt::Display for BadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "the request target is neither a path, nor an http URI, nor `*`",
            Self::Bytes => "the request target has bytes that no URI may have",
        })
    }
}

impl std::error::Error for BadTarget {}

/// Normalises path or query: percent-encoded unreserved bytes are decoded (RFC 3986 section 6.2.2.2), hex digits made
/// upper case (section 6.2.2.1). Dot segments, double slashes, case and order are left alone. A `%` without two hex
/// digits is left as it is, and never becomes an encoded byte by what is decoded behind it.
/// Returns the input untouched (borrowed) when there is nothing to do.
pub fn normalize(part: &str) -> Cow<'_, str> {
    let bytes = part.as_bytes();
    let mut normal = String::new();
    // How much of `part` is in `normal`, where the last percent sign's piece ended, and how many of the bytes written
    // from there on would stand within two of a bare `%`.
    let (mut taken, mut cursor, mut guarded) = (0, 0, 0_usize);
    for index in memchr::memchr_iter(b'%', bytes) {
        guarded = guarded.saturating_sub(index - cursor);
        let Some(byte) = triplet(bytes, index) else {
            (cursor, guarded) = (index + 1, 2);
            continue;
        };
        cursor = index + 3;
        let written = part.get(index..cursor).unwrap_or_default();
        let completes_bare = guarded > 0 && byte.is_ascii_hexdigit();
        guarded = guarded.saturating_sub(1);
        if is_unreserved(byte) && !completes_bare {
            normal.push_str(part.get(taken..index).unwrap_or_default());
            normal.push(char::from(byte));
            taken = cursor;
            continue;
        }
        guarded = 0;
        if written.bytes().any(|digit| digit.is_ascii_lowercase()) {
            normal.push_str(part.get(taken..index).unwrap_or_default());
            normal.push_str(&written.to_ascii_uppercase());
            taken = cursor;
        }
    }
    if taken == 0 {
        return Cow::Borrowed(part);
    }
    normal.push_str(part.get(taken..).unwrap_or_default());
    Cow::Owned(normal)
}

/// The byte that a percent sign at `index` and the two hex digits behind it stand for.
fn triplet(bytes: &[u8], index: usize) -> Option<u8> {
    let digit = |offset: usize| {
        let digit = char::from(*bytes.get(index + offset)?).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    Some(digit(1)? * 16 + digit(2)?)
}

/// RFC 3986 section 2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests;
