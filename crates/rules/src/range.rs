//! `Range` and `Content-Range` (RFC 9110 section 14).

use http::HeaderValue;

/// A range with both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub first: u64,
    pub last: u64,
}

/// What a `Range` field asks of a representation of `length` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// No range, another unit, malformed, or too many: send the whole (section 14.2).
    Whole,
    /// One part.
    One(Span),
    /// Several parts, in the order asked, coalesced where they overlap or touch (section 15.3.7.2).
    Many(Vec<Span>),
    /// 416.
    Unsatisfiable,
}

/// At most this many ranges are honoured; more means `Whole` (section 17.15).
pub const MOST_RANGES: usize = 32;

/// Resolves the field against a known length.
pub fn resolve(range: &HeaderValue, length: u64) -> Asked {
    todo!()
}

/// A range as written, before the length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    From { first: u64, last: Option<u64> },
    Suffix(u64),
}

/// The ranges as written; `None` if the field is malformed, in another unit, or asks too many.
pub fn parse(range: &HeaderValue) -> Option<Vec<Written>> {
    todo!()
}

/// A parsed `Content-Range: bytes first-last/length`; length `None` for `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    pub span: Span,
    pub length: Option<u64>,
}

/// Reads `Content-Range` of a 206; `None` if malformed or contradictory.
pub fn parse_content_range(value: &HeaderValue) -> Option<ContentRange> {
    todo!()
}

/// `bytes first-last/length`.
pub fn content_range(span: Span, length: u64) -> HeaderValue {
    todo!()
}
/// `bytes */length`, for 416.
pub fn unsatisfied(length: u64) -> HeaderValue {
    todo!()
}
/// The head of one part of `multipart/byteranges`, CRLFs included (section 15.3.7.2); `boundary` without dashes.
pub fn part_head(
    boundary: &str,
    content_type: Option<&HeaderValue>,
    span: Span,
    length: u64,
) -> Vec<u8> {
    todo!()
}
/// The closing delimiter.
pub fn part_end(boundary: &str) -> Vec<u8> {
    todo!()
}
