//! The stored responses that a condition names.

use crate::walk::{coding, fetch::Fetch, lookup::answers};
use http::{HeaderMap, HeaderValue, header};
use rules::validate::{self, Validators};
use std::sync::Arc;
use store::Stored;

impl Fetch<'_> {
    /// Returns the stored responses that a condition names, as many as one request can ask about: the selected one
    /// first, then the others as they are in the store, the most recent first. They include only those that could
    /// answer this request if they are confirmed: a body on its way may still break off, parts may not hold what is
    /// asked for, and the client may not read their coding.
    pub fn validation_candidates(&self) -> Vec<ValidationCandidate> {
        let answers = |stored: &&Arc<Stored>| answers(self.ask, stored);
        let selected = self
            .need
            .selected
            .iter()
            .filter(answers)
            .map(ValidationCandidate::new);
        let mut scratch = Vec::new();
        // Some applications give one strong tag to the same content in all codings.
        let may_be_lent = |stored: &&Arc<Stored>| coding::is_readable(self.ask, stored);
        let others = self.need.others.iter().filter(answers);
        let others = others.filter(may_be_lent).map(|stored| {
            let matches = stored.matches(&self.ask.fields, &mut scratch);
            ValidationCandidate::of_another(stored, matches)
        });
        // A response without a validator cannot be asked about.
        let is_named = |candidate: &ValidationCandidate| candidate.validators().has_any();
        let mut candidates: Vec<_> = selected.chain(others.filter(is_named)).collect();
        let all: Vec<_> = candidates
            .iter()
            .map(ValidationCandidate::validators)
            .collect();
        let count = validate::askable(&all).len();
        candidates.truncate(count);
        candidates
    }

    /// Returns the candidates that a 304 selects.
    pub fn freshened(&self, not_modified: &HeaderMap) -> Vec<ValidationCandidate> {
        let mut candidates = self.validation_candidates();
        let validators: Vec<_> = candidates
            .iter()
            .map(ValidationCandidate::validators)
            .collect();
        let selected = validate::selected(not_modified, &validators);
        let mut index = 0;
        candidates.retain(|_| {
            index += 1;
            selected.contains(&(index - 1))
        });
        candidates
    }
}

/// A stored response with its validators at hand.
pub struct ValidationCandidate {
    /// The response itself.
    pub stored: Arc<Stored>,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    matches: bool,
}

impl ValidationCandidate {
    /// The response that is selected for the request.
    fn new(stored: &Arc<Stored>) -> Self {
        Self {
            stored: stored.clone(),
            etag: stored.fields.get(&header::ETAG),
            last_modified: stored.fields.get(&header::LAST_MODIFIED),
            matches: true,
        }
    }

    /// Another response. It may be named by its tag; the only date that is sent is that of the selected one.
    fn of_another(stored: &Arc<Stored>, matches: bool) -> Self {
        Self {
            last_modified: None,
            matches,
            ..Self::new(stored)
        }
    }

    /// Returns the validators by which a condition may name it. The `Last-Modified` of a response that is not selected
    /// is not among them.
    pub fn validators(&self) -> Validators<'_> {
        Validators {
            etag: self.etag.as_ref(),
            last_modified: self.last_modified.as_ref(),
            date: self.stored.facts.date,
            matches: self.matches,
        }
    }
}
