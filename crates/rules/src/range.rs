//! `Range` and what answers it (RFC 9110 section 14).

mod content_range;
mod multipart;

pub use content_range::{ContentRange, content_range, parse_content_range, unsatisfied};
pub use multipart::{part_end, part_head};

use http::HeaderValue;

/// A range with both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte, at least `first`.
    pub last: u64,
}

impl Span {
    /// The number of bytes in the span.
    pub const fn length(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// Whether the two spans share a byte.
    pub(crate) const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether the two spans share a byte or are adjacent.
    pub(crate) const fn touches(self, other: Self) -> bool {
        self.first <= other.last.saturating_add(1) && other.first <= self.last.saturating_add(1)
    }

    /// The smallest span that covers both.
    pub(crate) fn join(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// What a `Range` field asks of a representation of `length` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedRange {
    /// No range, another unit, malformed, or too many ranges: send the whole (section 14.2).
    Whole,
    /// One part.
    One(Span),
    /// Several parts in the order requested, coalesced if they overlap or touch (section 15.3.7.2).
    Many(Vec<Span>),
    /// No range can be satisfied: send 416.
    Unsatisfiable,
}

/// At most this many ranges are honoured; more than that means `Whole` (section 17.15).
pub const MOST_RANGES: usize = 32;

/// At most this many ranges that overlap an earlier one are honoured; more than that means `Whole`: "more than two
/// overlapping ranges" are "indications of either a broken client or a deliberate denial-of-service attack" (section
/// 14.2).
const MOST_OVERLAPS: usize = 1;

/// Resolves the field for a known length. A representation without content is always sent whole (section 14.2).
pub fn resolve(range: &HeaderValue, length: u64) -> ResolvedRange {
    let Some(written) = parse(range) else {
        return ResolvedRange::Whole;
    };
    if length == 0 {
        return ResolvedRange::Whole;
    }
    let mut parts: Vec<Span> = Vec::with_capacity(written.len());
    let mut overlaps = 0;
    for span in written.into_iter().filter_map(|one| span_of(one, length)) {
        overlaps += usize::from(parts.iter().any(|part| part.overlaps(span)));
        coalesce(&mut parts, span);
    }
    match parts.as_slice() {
        [] => ResolvedRange::Unsatisfiable,
        _ if overlaps > MOST_OVERLAPS => ResolvedRange::Whole,
        [only] => ResolvedRange::One(*only),
        _ => ResolvedRange::Many(parts),
    }
}

/// Appends `span`, or joins it with the parts that it touches, at the position of the first of them.
fn coalesce(parts: &mut Vec<Span>, span: Span) {
    let Some(place) = parts.iter().position(|part| part.touches(span)) else {
        parts.push(span);
        return;
    };
    // It is enough to join the parts that `span` touches. The joined part reaches no others, because parts never touch
    // one another.
    let joined = parts
        .iter()
        .filter(|part| part.touches(span))
        .fold(span, |joined, part| joined.join(*part));
    let mut index = 0;
    parts.retain_mut(|part| {
        let here = index == place;
        index += 1;
        if here {
            *part = joined;
        }
        here || !part.touches(span)
    });
}

/// A range as written, before the length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// `first-last` or `first-`.
    From {
        /// Offset of the first byte.
        first: u64,
        /// Offset of the last byte; `None` means to the end.
        last: Option<u64>,
    },
    /// `-n`: the last `n` bytes.
    Suffix(u64),
}

/// Returns the span that one written range means in a representation of `length` bytes; `None` if it is unsatisfiable
/// (section 14.1.2). Every range of an empty representation is unsatisfiable here: no `Content-Range` can
/// express it.
pub fn span_of(written: Written, length: u64) -> Option<Span> {
    let end = length.checked_sub(1)?;
    match written {
        Written::From { first, last } => {
            let last = last.map_or(end, |last| last.min(end));
            (first <= last).then_some(Span { first, last })
        }
        Written::Suffix(0) => None,
        Written::Suffix(suffix) => Some(Span {
            first: length.saturating_sub(suffix),
            last: end,
        }),
    }
}

/// Parses the ranges as written; `None` if the field is malformed, in another unit, or asks for too many. A number
/// beyond 64 bits counts as the largest that fits (section 14.1.2).
pub fn parse(range: &HeaderValue) -> Option<Vec<Written>> {
    let set = after_unit(range.as_bytes(), b'=')?;
    let mut ranges = Vec::new();
    for spec in set.split(|&byte| byte == b',') {
        let spec = spec.trim_ascii();
        // A recipient ignores empty members of a list (section 5.6.1.2).
        if spec.is_empty() {
            continue;
        }
        if ranges.len() == MOST_RANGES {
            return None;
        }
        ranges.push(parse_spec(spec)?);
    }
    (!ranges.is_empty()).then_some(ranges)
}

/// Returns what follows the unit `bytes`, whose name is case-insensitive (section 14.1).
fn after_unit(value: &[u8], separator: u8) -> Option<&[u8]> {
    let (unit, rest) = value.split_at_checked(5)?;
    let rest = rest.strip_prefix(&[separator])?;
    unit.eq_ignore_ascii_case(b"bytes").then_some(rest)
}

fn parse_spec(spec: &[u8]) -> Option<Written> {
    let dash = spec.iter().position(|&byte| byte == b'-')?;
    let (first, last) = (spec.get(..dash)?, spec.get(dash + 1..)?);
    if first.is_empty() {
        return Some(Written::Suffix(saturating_number(last)?));
    }
    let first = saturating_number(first)?;
    let last = match last {
        [] => None,
        digits => Some(saturating_number(digits)?),
    };
    let backwards = last.is_some_and(|last| last < first);
    (!backwards).then_some(Written::From { first, last })
}

fn saturating_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(value))
    })
}

/// Renders the `Range` value for a request of our own: `bytes=first-last`.
pub fn range_value(span: Span) -> HeaderValue {
    ascii(format!("bytes={}-{}", span.first, span.last))
}

/// Makes a field value from digits and ASCII punctuation.
#[expect(
    clippy::expect_used,
    reason = "every caller passes printable ASCII of its own making"
)]
fn ascii(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("printable ASCII is a field value")
}

#[cfg(test)]
mod tests;
