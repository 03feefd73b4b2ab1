//! Which part of the representation is asked for.

use crate::walk::{admit, coding, esi, fetch::Fetch, lookup::wanted_part, pump::Room};
use http::{HeaderMap, Method, Response, StatusCode, header};
use origin::ResponseBody;
use rules::{
    partial,
    range::{self, Span},
};
use store::{Body, Stored};

/// What our request asks for.
pub enum Plan {
    /// The whole representation, on condition where something is stored.
    Whole,
    /// The part the client asks for: nothing is stored that it could be combined with.
    Part,
    /// What is missing of the stored parts.
    Missing(Span),
}

impl Fetch<'_> {
    pub fn plan(&self) -> Plan {
        let selected = self.need.selected.as_deref();
        if let Some(
            stored @ Stored {
                body: Body::Parts(parts),
                fields,
                ..
            },
        ) = selected
            && fields
                .get_bytes(&header::ETAG)
                .is_some_and(|tag| !tag.starts_with(b"W/"))
        {
            let all = Span {
                first: 0,
                last: parts.length.saturating_sub(1),
            };
            let wanted = wanted_part(self.ask, stored, parts.length).unwrap_or(all);
            match parts.spans().missing(wanted) {
                None => return Plan::Whole,
                Some(missing)
                    if missing.last - missing.first < Room::of(self.worker, self.ask).in_memory =>
                {
                    return Plan::Missing(missing);
                }
                // More than is kept of any body: the request goes as if nothing were stored.
                Some(_) => {}
            }
        }
        let written = self.ask.range().and_then(range::parse);
        let single = written.is_some_and(|ranges| ranges.len() == 1);
        let parted = selected.is_none_or(|stored| matches!(stored.body, Body::Parts(_)));
        if parted && single {
            Plan::Part
        } else {
            Plan::Whole
        }
    }

    /// An answer that only makes sense together with something stored that it does not fit: the origin is asked again,
    /// without conditions.
    pub fn is_useless(&self, plan: &Plan, response: &Response<ResponseBody>) -> bool {
        match response.status() {
            StatusCode::NOT_MODIFIED => {
                !self.passes_condition && self.freshened(response.headers()).is_empty()
            }
            StatusCode::PARTIAL_CONTENT => match plan {
                Plan::Whole => true,
                Plan::Part => {
                    let fields = response.headers();
                    esi::is_part_of_page(self.ask, fields)
                        || coding::is_of_another(self.ask, fields, None)
                }
                Plan::Missing(span) => !self.fits(*span, response.headers()),
            },
            StatusCode::RANGE_NOT_SATISFIABLE => matches!(plan, Plan::Missing(_)),
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
            && partial::combinable(&stored.fields.unpack(0), fields)
            && range.is_some_and(|range| {
                // One strong validator, one length: the origin need not tell it again.
                range.span == span
                    && (range.length.is_none() || range.length == stored.body.length())
            })
    }
}
