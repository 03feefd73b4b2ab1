//! Combining partial responses and completing them (RFC 9111 sections 3.3 and 3.4, RFC 9110 section 15.3.7.3).

use crate::range::{Span, Written};
use http::{HeaderMap, HeaderValue};

/// Which spans of a representation are held: sorted, not touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    pub fn insert(&mut self, span: Span) {
        todo!()
    }
    pub fn contains(&self, span: Span) -> bool {
        todo!()
    }
    pub fn is_complete(&self, length: u64) -> bool {
        todo!()
    }
    /// The smallest single span that, once fetched, leaves no hole inside `wanted`; `None` if nothing is missing.
    pub fn missing(&self, wanted: Span) -> Option<Span> {
        todo!()
    }
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.0.iter().copied()
    }
}

/// Whether two responses' parts may be combined: the same strong `ETag` (RFC 9111 section 3.4).
pub fn combinable(stored: &HeaderMap, new: &HeaderMap) -> bool {
    todo!()
}

/// The span that a single written range means for a representation of `length`; `None` if unsatisfiable.
pub fn span_of(written: Written, length: u64) -> Option<Span> {
    todo!()
}

/// `Range` field value for a request of our own: `bytes=first-last`.
pub fn range_value(span: Span) -> HeaderValue {
    todo!()
}
