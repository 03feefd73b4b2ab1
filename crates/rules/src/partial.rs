//! Combining partial responses and completing them (RFC 9111 sections 3.3 and 3.4, RFC 9110 section 15.3.7.3).

use crate::{
    etag::{EntityTag, joins_parts},
    fields::{has, same_lines},
    range::Span,
    time::Time,
};
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_ENCODING, DATE, ETAG, LAST_MODIFIED},
};

/// The spans of a representation that are held: sorted, and no two touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// Adds a span, and joins it with the spans that it touches.
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

    /// Whether a representation of `length` bytes is held completely.
    pub fn is_complete(&self, length: u64) -> bool {
        match length.checked_sub(1) {
            None => true,
            Some(last) => self.contains(Span { first: 0, last }),
        }
    }

    /// Returns the smallest single span that, once fetched, leaves no hole in `wanted`; `None` if nothing is missing.
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
        (first <= last).then_some(Span { first, last })
    }

    /// Iterates over the spans in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().copied()
    }
}

/// A validator that changes with every change of the representation (RFC 9110 section 8.8.1).
#[derive(PartialEq, Eq)]
enum Strong<'a> {
    Tag(EntityTag<'a>),
    /// A `Last-Modified` at least a minute before `Date`, used without an `ETag` (RFC 9110 section 8.8.2.2).
    Modified(Time),
}

impl<'a> Strong<'a> {
    fn of(fields: &'a HeaderMap, now: Time) -> Option<Self> {
        if has(fields, &ETAG) {
            let tag = EntityTag::of(fields)?;
            return tag.is_strong().then_some(Self::Tag(tag));
        }
        let time = |name| {
            let mut lines = fields.get_all(name).iter();
            match (lines.next(), lines.next()) {
                (Some(only), None) => Time::parse(only.as_bytes(), now),
                _ => None,
            }
        };
        // A response without `Date` has the time of its receipt (RFC 9110 section 6.6.1).
        let date = if has(fields, &DATE) {
            time(&DATE)?
        } else {
            now
        };
        let modified = time(&LAST_MODIFIED)?;
        joins_parts(modified, date).then_some(Self::Modified(modified))
    }
}

/// Returns the strong validator of a response, as `If-Range` sends it back (RFC 9110 section 13.1.5).
pub fn strong_validator(fields: &HeaderMap, now: Time) -> Option<HeaderValue> {
    let name = match Strong::of(fields, now)? {
        Strong::Tag(_) => ETAG,
        Strong::Modified(_) => LAST_MODIFIED,
    };
    fields.get(name).cloned()
}

/// Whether parts of two responses may be combined: they have the same strong validator (RFC 9111 section 3.4) and the
/// same coding. The coding is compared because some origins give one tag to all their codings.
pub fn combinable(stored: &HeaderMap, new: &HeaderMap, now: Time) -> bool {
    same_lines(stored, new, &CONTENT_ENCODING)
        && Strong::of(stored, now).is_some_and(|strong| Some(strong) == Strong::of(new, now))
}

#[cfg(test)]
mod tests;
