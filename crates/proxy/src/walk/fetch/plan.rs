//! Which part of the representation is asked for.

use crate::walk::{admit, coding, esi, fetch::Fetch, lookup, pump::Room};
use http::{HeaderMap, Method, Response, StatusCode, header};
use origin::ResponseBody;
use rules::{
    partial,
    range::{self, ResolvedRange, Span},
};
use store::{Body, BodyPiece, Parts, Stored};

/// What our request asks for.
pub enum Plan {
    /// The whole representation, on condition where something is stored.
    Whole,
    /// The whole representation without a condition: what came to the first request fits nothing that is stored.
    Anew,
    /// The part the client asks for: nothing is stored that it could be combined with, or not yet.
    Part,
    /// What is missing of the stored parts.
    Missing(Box<Missing>),
}

/// What is missing of the stored parts, and what lies around it.
pub struct Missing {
    /// What the origin is asked for.
    pub span: Span,
    /// What the client wants: the missing span, with what is held before and behind it.
    pub wanted: Span,
    /// What is held of `wanted` before `span`.
    pub before: Vec<BodyPiece>,
    /// What is held of `wanted` behind `span`.
    pub after: Vec<BodyPiece>,
}

impl Fetch<'_> {
    /// What the first request is to ask for. Parts are completed only where they have a strong validator (RFC 9111
    /// section 3.4).
    pub fn plan(&self) -> Plan {
        let selected = self.need.selected.as_deref();
        if let Some(
            stored @ Stored {
                body: Body::Parts(parts),
                fields,
                ..
            },
        ) = selected
            && partial::strong_validator(&fields.unpack(0), self.ask.now).is_some()
        {
            let asked = lookup::wanted(self.ask, stored, parts.length);
            if parts.is_complete() || lookup::holds(parts, &asked) {
                return Plan::Whole;
            }
            if let Some(missing) = self.missing(parts, &asked) {
                return Plan::Missing(Box::new(missing));
            }
        }
        let parted = selected.is_none_or(|stored| matches!(stored.body, Body::Parts(_)));
        if (parted || self.need.is_beside_fill(self.ask)) && self.wants_one_part() {
            Plan::Part
        } else {
            Plan::Whole
        }
    }

    /// What the second request is to ask for, where the answer to the first [is of no use](Self::is_useless). An origin that sends less
    /// than the part it was asked for may do so (RFC 9110 section 15.3.7): the client gets that as it would where nothing is stored,
    /// and not the whole instead.
    pub fn second_plan(&self, first: &Plan) -> Plan {
        if matches!(first, Plan::Missing(_)) && self.wants_one_part() {
            Plan::Part
        } else {
            Plan::Anew
        }
    }

    fn wants_one_part(&self) -> bool {
        let written = self.ask.range().and_then(range::parse);
        written.is_some_and(|ranges| ranges.len() == 1)
    }

    /// What is missing of `parts`; `None` where the request goes as if nothing were stored: there is no such part, as the origin is to
    /// say, or it is more than is kept of any body, or what lies around it cannot be read.
    fn missing(&self, parts: &Parts, asked: &ResolvedRange) -> Option<Missing> {
        let wanted = match asked {
            ResolvedRange::Unsatisfiable => return None,
            ResolvedRange::One(span) => *span,
            ResolvedRange::Whole | ResolvedRange::Many(_) => Span {
                first: 0,
                last: parts.length.checked_sub(1)?,
            },
        };
        if wanted.length() > Room::of(self.worker, self.ask).largest {
            return None;
        }
        let span = parts.spans().missing(wanted)?;
        let held = |first: u64, end: u64| match end.checked_sub(first) {
            None | Some(0) => Some(Vec::new()),
            Some(_) => parts.slice(Span {
                first,
                last: end - 1,
            }),
        };
        Some(Missing {
            span,
            wanted,
            before: held(wanted.first, span.first)?,
            after: held(span.last.saturating_add(1), wanted.last.saturating_add(1))?,
        })
    }

    /// An answer that only makes sense together with something stored that it does not fit: the origin is asked again,
    /// without conditions.
    pub fn is_useless(&self, plan: &Plan, response: &Response<ResponseBody>) -> bool {
        match response.status() {
            StatusCode::NOT_MODIFIED => {
                let fields = response.headers();
                if self.passes_condition {
                    esi::is_about_page(self.ask, fields)
                } else {
                    self.freshened(fields).is_empty()
                }
            }
            StatusCode::PARTIAL_CONTENT => match plan {
                Plan::Whole | Plan::Anew => true,
                Plan::Part => {
                    let fields = response.headers();
                    esi::is_part_of_page(self.ask, fields)
                        || coding::is_of_another(self.ask, fields, None)
                }
                Plan::Missing(missing) => !self.fits(missing.span, response.headers()),
            },
            StatusCode::RANGE_NOT_SATISFIABLE => match plan {
                Plan::Whole | Plan::Anew => false,
                Plan::Part => esi::is_about_page(self.ask, response.headers()),
                Plan::Missing(_) => true,
            },
            _ => false,
        }
    }

    /// Whether a 206 holds `span` of the representation whose parts are stored.
    pub fn fits(&self, span: Span, fields: &HeaderMap) -> bool {
        let Some(stored) = &self.need.selected else {
            return false;
        };
        let range = fields
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            StatusCode::PARTIAL_CONTENT,
            fields,
        );
        judged.is_ok()
            && partial::combinable(&stored.fields.unpack(0), fields, self.times.request)
            && range.is_some_and(|range| {
                // One strong validator, one length: the origin need not tell it again.
                range.span == span
                    && (range.length.is_none() || range.length == stored.body.length())
            })
    }
}
