//! `Content-Range` (RFC 9110 section 14.4).

use super::{Span, after_unit, ascii};
use http::HeaderValue;

/// A parsed `Content-Range: bytes first-last/length`. The length is `None` for `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// The part that is enclosed.
    pub span: Span,
    /// The length of the whole representation, if the sender knew it.
    pub length: Option<u64>,
}

/// Parses the `Content-Range` of a 206; `None` if it is malformed, contradictory or in another unit (section 14.4).
/// Such content must not be combined with anything.
pub fn parse_content_range(value: &HeaderValue) -> Option<ContentRange> {
    let rest = after_unit(value.as_bytes(), b' ')?.trim_ascii();
    let slash = rest.iter().position(|&byte| byte == b'/')?;
    let (span, length) = (rest.get(..slash)?, rest.get(slash + 1..)?);
    let dash = span.iter().position(|&byte| byte == b'-')?;
    let span = Span {
        first: exact_number(span.get(..dash)?)?,
        last: exact_number(span.get(dash + 1..)?)?,
    };
    let length = match length {
        b"*" => None,
        digits => Some(exact_number(digits)?),
    };
    let possible = span.first <= span.last && length.is_none_or(|length| span.last < length);
    possible.then_some(ContentRange { span, length })
}

/// Renders `bytes first-last/length`.
pub fn content_range(span: Span, length: u64) -> HeaderValue {
    ascii(format!("bytes {}-{}/{length}", span.first, span.last))
}

/// Renders `bytes */length`, for 416.
pub fn unsatisfied(length: u64) -> HeaderValue {
    ascii(format!("bytes */{length}"))
}

fn exact_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(value)
    })
}
