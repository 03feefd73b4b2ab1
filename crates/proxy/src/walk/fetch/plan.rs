//! Which part of the representation is asked for.

use crate::walk::{admit, coding, fetch::Fetch, lookup, page, pump::Room, shape};
use http::{HeaderMap, Method, Response, StatusCode, header};
use origin::ResponseBody;
use rules::{
    fields::has,
    range::{self, ResolvedRange, Span},
    storable::NotStorable,
};
use store::{Body, BodyPiece, Parts, Stored};

/// What our request asks for.
pub enum Plan {
    /// The whole representation; on condition if something is stored.
    Whole,
    /// The whole representation without a condition, since the answer to the first request fits nothing that is stored.
    Anew,
    /// What the client asks for in its `Range`. Nothing is stored that it could be combined with, or not yet.
    Part,
    /// The part that the stored parts lack.
    Missing(Box<Missing>),
}

/// What the stored parts lack, and what is held around it.
pub struct Missing {
    /// The span that the origin is asked for.
    pub span: Span,
    /// The span that the client wants: the missing span, with what is held before and after it.
    pub wanted: Span,
    /// What is held of `wanted` before `span`.
    pub before: Vec<BodyPiece>,
    /// What is held of `wanted` after `span`.
    pub after: Vec<BodyPiece>,
}

impl Fetch<'_> {
    /// Returns what the first request asks for. Parts are completed only if they have a strong validator (RFC 9111
    /// section 3.4).
    pub fn plan(&self) -> Plan {
        let selected = self.need.selected.as_deref();
        if let Some(
            stored @ Stored {
                body: Body::Parts(parts),
                ..
            },
        ) = selected
            && shape::strong_validator(stored, self.ask.now).is_some()
        {
            let asked = lookup::wanted(self.ask, stored, parts.length);
            if parts.is_complete() || lookup::holds(parts, &asked) {
                return Plan::Whole;
            }
            if self.may_complete(stored)
                && let Some(missing) = self.missing(parts, &asked)
            {
                return Plan::Missing(Box::new(missing));
            }
        }
        if self.passes_range || self.need.asks_for_part(self.ask) {
            Plan::Part
        } else {
            Plan::Whole
        }
    }

    /// Whether, as far as `stored` tells, what completes it may be stored. Parts are combined in the store alone: to a
    /// request that must not fill it (`no-store`, `Authorization`), what is missing would be of no use.
    fn may_complete(&self, stored: &Stored) -> bool {
        let (status, fields) = (StatusCode::OK, stored.all_fields(0));
        let judged = admit::judge(self.ask, &Method::GET, self.times, status, &fields);
        !judged.is_err_and(NotStorable::is_of_this_request)
    }

    /// Returns what the second request asks for if the answer to the first [is of no use](Self::is_useless). An origin
    /// may send less than the part it was asked for (RFC 9110 section 15.3.7). Then the client gets that, as it would
    /// if nothing were stored, and not the whole instead.
    pub fn second_plan(&self, first: &Plan) -> Plan {
        if matches!(first, Plan::Missing(_)) && lookup::one_range(self.ask).is_some() {
            Plan::Part
        } else {
            Plan::Anew
        }
    }

    /// Returns what is missing of `parts`. `None` if the request goes out as if nothing were stored: because there is
    /// no such part, which the origin is to say; because it is more than is kept of any body; or because what lies
    /// around it cannot be read.
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

    /// Whether an answer only makes sense together with a stored response, but does not fit it. Then the origin is
    /// asked again, without conditions.
    pub fn is_useless(&self, plan: &Plan, response: &Response<ResponseBody>) -> bool {
        match response.status() {
            StatusCode::NOT_MODIFIED => {
                let fields = response.headers();
                if self.passes_condition {
                    page::is_about_page(self.ask, fields)
                } else {
                    // Without validators it can only be about what was asked about.
                    let is_named =
                        has(fields, &header::ETAG) || has(fields, &header::LAST_MODIFIED);
                    let is_asked = is_named || self.is_on_condition(plan);
                    !is_asked || self.freshened(fields).is_empty()
                }
            }
            StatusCode::PARTIAL_CONTENT => match plan {
                Plan::Whole | Plan::Anew => true,
                Plan::Part => {
                    let fields = response.headers();
                    page::is_part_of_page(self.ask, fields)
                        || coding::is_of_another(self.ask, fields, None)
                }
                Plan::Missing(missing) => !self.fits(missing.span, response.headers()),
            },
            StatusCode::RANGE_NOT_SATISFIABLE => match plan {
                Plan::Whole | Plan::Anew => false,
                Plan::Part => page::is_about_page(self.ask, response.headers()),
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
            && shape::is_combinable(stored, fields, self.times.request)
            && range.is_some_and(|range| {
                // With the same strong validator the length is the same, so the origin need not repeat it.
                range.span == span
                    && (range.length.is_none() || range.length == stored.body.length())
            })
    }
}
