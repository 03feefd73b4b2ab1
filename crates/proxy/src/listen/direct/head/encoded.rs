//! Targets with bytes that a URI has in their encoded form alone (RFC 3986 section 2), and that some clients send as they are:
//! `"`, `<`, `>`, `` ` ``, and all beyond ASCII. They are taken for their encoded form, which is what is keyed, sent and logged.

use http::Uri;

/// The URI that `target` is or means; `None` where it means none.
pub(super) fn uri(target: &str) -> Option<Uri> {
    if let Ok(uri) = Uri::try_from(target)
        && target.is_ascii()
    {
        return Some(uri);
    }
    let mut written = String::with_capacity(2 * target.len());
    for byte in target.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'`' | 0x80.. => {
                written.push('%');
                written.extend([byte >> 4, byte & 0xF].map(digit));
            }
            byte => written.push(char::from(byte)),
        }
    }
    Uri::try_from(written).ok()
}

/// Upper case, as the key has them (RFC 3986 section 6.2.2.1).
const fn digit(value: u8) -> char {
    match value {
        0..=9 => (b'0' + value) as char,
        _ => (b'A' + value - 10) as char,
    }
}
