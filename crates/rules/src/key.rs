//! One spelling for each request target and host, and the choice of the query parameters that are keyed (RFC 9110
//! section 4.2.3, RFC 3986 section 6.2.2).

mod host;
mod lenient;
mod query;
mod script;
mod units;

pub use host::normalize_host;
pub use lenient::{decode_optional, is_plain, readings};
pub use query::{ParamPattern, QueryChoice, TRACKING, choose_query, decoded, tracking};
pub use script::{is_behind_script, is_run};
pub use units::spell_units;

use std::{borrow::Cow, fmt::Write as _};

/// Normalises a path or a query. Returns it borrowed if there is nothing to change.
///
/// Percent-encoded unreserved bytes are decoded (RFC 3986 section 6.2.2.2), and hex digits become upper case (section
/// 6.2.2.1). Bytes that a URI has only in encoded form are encoded: everything beyond ASCII (RFC 3987 section 3.1),
/// `"`, `<`, `>` and `` ` `` (RFC 3986 section 2). Most clients encode them, but some send them as they are.
///
/// Dot segments, double slashes, case and order are left alone. A `%` without two hex digits stays as it is, and bytes
/// decoded after it never turn it into an encoded byte.
pub fn normalize(part: &str) -> Cow<'_, str> {
    // Without an early exit, many bytes are compared at once.
    if part
        .bytes()
        .fold(true, |all, byte| all & !is_encoded_only(byte))
    {
        decode_unreserved(part)
    } else {
        Cow::Owned(decode_unreserved(&encode_rest(part)).into_owned())
    }
}

/// Whether a URI has this byte only in encoded form, although some clients send it as it is.
pub(crate) const fn is_encoded_only(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'`' | 0x80..)
}

/// Percent-encodes the bytes that a URI has only in encoded form, as [`normalize`] does.
pub fn encode_rest(part: &str) -> String {
    let mut encoded = String::with_capacity(part.len() * 2);
    for byte in part.bytes() {
        put(byte, is_encoded_only(byte), &mut encoded);
    }
    encoded
}

/// Adds a byte to `into`, percent-encoded or as it is.
fn put(byte: u8, is_encoded: bool, into: &mut String) {
    if is_encoded {
        // Writing to a string does not fail.
        let _ = write!(into, "%{byte:02X}");
    } else {
        into.push(char::from(byte));
    }
}

fn decode_unreserved(part: &str) -> Cow<'_, str> {
    let bytes = part.as_bytes();
    let mut normal = String::new();
    // `taken`: how much of `part` is in `normal`. `cursor`: where the piece of the last percent sign ended. `guarded`:
    // how many of the bytes written from there on would be within two of a bare `%`.
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

/// The byte that a percent sign at `index` and the two hex digits after it stand for.
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
