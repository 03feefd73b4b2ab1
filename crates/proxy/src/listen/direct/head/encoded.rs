//! Targets with bytes that a URI has in their encoded form alone (RFC 3986 section 2), and that some clients send as they are:
//! `"`, `<`, `>`, `` ` ``, and all beyond ASCII. They are taken for their encoded form, which is what is keyed, sent and logged.

use super::Copied;
use bytes::Bytes;
use http::Uri;

/// The URI that `target` means, and the head with it in the target's place: whoever reads it again reads the same. `None` where it
/// means none.
pub(super) fn head(copy: &Copied<'_>, target: &str) -> Option<(Uri, Bytes)> {
    let at = copy.at(target.as_bytes());
    let before = copy.from.get(..at)?;
    let behind = copy.from.get(at.checked_add(target.len())?..)?;
    let mut head = Vec::with_capacity(copy.from.len() + 2 * target.len());
    head.extend_from_slice(before);
    for byte in target.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'`' | 0x80.. => {
                let digits = [byte >> 4, byte & 0xF].map(digit);
                head.push(b'%');
                head.extend_from_slice(&digits);
            }
            byte => head.push(byte),
        }
    }
    let end = head.len();
    head.extend_from_slice(behind);
    let head = Bytes::from(head);
    let uri = Uri::from_maybe_shared(head.slice(at..end)).ok()?;
    Some((uri, head))
}

/// Upper case, as the key has them (RFC 3986 section 6.2.2.1).
const fn digit(value: u8) -> u8 {
    match value {
        0..=9 => b'0' + value,
        _ => b'A' + value - 10,
    }
}
