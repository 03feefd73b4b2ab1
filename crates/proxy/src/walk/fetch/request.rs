//! The request that asks for what a plan says.

use crate::{
    error::Failure,
    routing,
    walk::{
        coding,
        fetch::{Fetch, Plan, ValidationCandidate},
        outbound, shape,
    },
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, header};
use origin::RequestBody;
use rules::{range, validate, vary};

impl Fetch<'_> {
    /// Returns the request. HEAD goes out as GET, so that both can be answered from what is stored.
    pub fn request(&self, plan: &Plan) -> Result<Request<RequestBody>, Failure> {
        let mut fields = outbound::fields(self.ask)?;
        vary::put_in_order(&mut fields);
        routing::put_chosen_first(&mut fields, self.ask.route());
        let part = matches!(plan, Plan::Part).then(|| {
            let range = fields.remove(header::RANGE);
            (range, fields.remove(header::IF_RANGE))
        });
        validate::remove_conditions(&mut fields);
        coding::ask_origin(self.ask, &mut fields, || {
            self.need.is_unshared(self.worker, self.ask)
        });
        match plan {
            Plan::Whole if self.passes_condition => {
                self.pass_condition(&mut fields);
                coding::for_origin(self.ask, &mut fields);
            }
            Plan::Whole => self.condition(&mut fields),
            Plan::Anew => {}
            Plan::Part => {
                let (range, if_range) = part.unwrap_or_default();
                put(&mut fields, header::RANGE, range);
                put(&mut fields, header::IF_RANGE, if_range);
                if self.passes_condition {
                    // The condition is evaluated before the range (RFC 9110 section 13.2.2).
                    self.pass_condition(&mut fields);
                }
                coding::for_origin(self.ask, &mut fields);
            }
            Plan::Missing(missing) => {
                let selected = self.need.selected.as_ref();
                let validator =
                    selected.and_then(|stored| shape::strong_validator(stored, self.ask.now));
                fields.insert(header::RANGE, range::range_value(missing.span));
                put(&mut fields, header::IF_RANGE, validator);
            }
        }
        if self.ask.checks_errors() {
            // Only in plain text can it be seen whether the answer tells of errors.
            fields.insert(
                header::ACCEPT_ENCODING,
                HeaderValue::from_static("identity"),
            );
        }
        match self.content() {
            Some(content) => outbound::with_content(self.ask, fields, content),
            None => outbound::bodyless(self.ask, Method::GET, fields),
        }
    }

    /// Returns the request's content, if it is in the key.
    pub fn content(&self) -> Option<Bytes> {
        let keyed = self.ask.content.keyed.as_deref();
        keyed.map(|(content, _)| content.clone())
    }

    /// Adds the client's own `If-None-Match` and `If-Modified-Since`.
    fn pass_condition(&self, fields: &mut HeaderMap) {
        for name in [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE] {
            for line in self.ask.fields.get_all(&name) {
                fields.append(&name, line.clone());
            }
        }
    }

    /// Whether the request for this plan asks about stored responses.
    pub fn is_on_condition(&self, plan: &Plan) -> bool {
        let mut condition = HeaderMap::new();
        if matches!(plan, Plan::Whole) {
            self.condition(&mut condition);
        }
        !condition.is_empty()
    }

    /// Adds `If-None-Match` and `If-Modified-Since` for all candidates, unless content is part of the key.
    fn condition(&self, fields: &mut HeaderMap) {
        let candidates = self.validation_candidates();
        if candidates.is_empty() || self.ask.content.keyed.is_some() {
            return;
        }
        let validators: Vec<_> = candidates
            .iter()
            .map(ValidationCandidate::validators)
            .collect();
        validate::condition(fields, &validators);
    }
}

fn put(fields: &mut HeaderMap, name: http::HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        fields.insert(name, value);
    }
}
