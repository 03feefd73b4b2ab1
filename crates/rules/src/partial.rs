//! Combining partial responses and completing them (RFC 9111 sections 3.3 and 3.4, RFC 9110 section 15.3.7.3).

use crate::{
    etag::EntityTag,
    range::{self, Span, Written},
};
use http::{HeaderMap, HeaderValue, header::CONTENT_ENCODING};

/// Which spans of a representation are held: sorted, not touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// Adds a span and joins it with those it touches.
    pub fn insert(&mut self, span: Span) {
        if span.last < span.first {
            return;
        }
        let start = self
            .0
            .partition_point(|held| held.last.saturating_add(1) < span.first);
        let end = self
            .0
            .partition_point(|held| held.first <= span.last.saturating_add(1));
        let joined = self
            .0
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .fold(span, |joined, held| joined.join(*held));
        self.0.splice(start..end.max(start), [joined]);
    }

    /// Whether every byte of `span` is held.
    pub fn contains(&self, span: Span) -> bool {
        self.0
            .iter()
            .any(|held| held.first <= span.first && span.last <= held.last)
    }

    /// Whether all of a representation of `length` bytes is held.
    pub fn is_complete(&self, length: u64) -> bool {
        match length.checked_sub(1) {
            None => true,
            Some(last) => self.contains(Span { first: 0, last }),
        }
    }

    /// The smallest single span that, once fetched, leaves no hole inside `wanted`; `None` if nothing is missing.
    pub fn missing(&self, wanted: Span) -> Option<Span> {
        let holder = |byte: u64| {
            self.0
                .iter()
                .find(|held| held.first <= byte && byte <= held.last)
        };
        let first = match holder(wanted.first) {
            None => wanted.first,
            Some(held) => held.last.checked_add(1)?,
        };
        let last = match holder(wanted.last) {
            None => wanted.last,
            Some(held) => held.first.checked_sub(1)?,
        };
        (wanted.first <= wanted.last && first <= last).then_some(Span { first, last })
    }

    /// The spans in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().copied()
    }
}

/// Whether two responses' parts may be combined: the same strong `ETag` (RFC 9111 section 3.4), and the same coding, for there are
/// origins that give one tag to all of theirs.
pub fn combinable(stored: &HeaderMap, new: &HeaderMap) -> bool {
    let codings = |fields: &HeaderMap| -> Vec<HeaderValue> {
        let all = fields.get_all(CONTENT_ENCODING).iter();
        all.cloned().collect()
    };
    if codings(stored) != codings(new) {
        return false;
    }
    match (EntityTag::of(stored), EntityTag::of(new)) {
        (Some(stored), Some(new)) => stored.strong_eq(new),
        _ => false,
    }
}

/// The span that a single written range means for a representation of `length`; `None` if unsatisfiable
/// (RFC 9110 section 14.1.2), as any range of an empty one is here: no `Content-Range` can express it.
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

/// `Range` field value for a request of our own: `bytes=first-last`.
pub fn range_value(span: Span) -> HeaderValue {
    range::ascii(format!("bytes={}-{}", span.first, span.last))
}

#[cfg(test)]
mod tests;
