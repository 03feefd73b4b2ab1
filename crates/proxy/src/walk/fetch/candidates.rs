//! The stored responses that a condition names.

use crate::walk::{fetch::Fetch, lookup::answers};
use http::{HeaderMap, HeaderValue, header};
use rules::validate::{self, Validators};
use std::sync::Arc;
use store::Stored;

impl Fetch<'_> {
    /// The stored responses that a condition names, all of which one request can ask about: the selected one first, the others as they stand in the store, the most recent
    /// first. Only those that could answer this request if they are confirmed: a body on its way may yet break off, and parts may not
    /// hold what is asked for.
    pub fn validation_candidates(&self) -> Vec<ValidationCandidate> {
        let answers = |stored: &&Arc<Stored>| answers(self.ask, stored);
        let selected = self
            .need
            .selected
            .iter()
            .filter(answers)
            .map(ValidationCandidate::new);
        let mut scratch = Vec::new();
        let others = self.need.others.iter().filter(answers).map(|stored| {
            let matches = stored.matches(&self.ask.fields, &mut scratch);
            ValidationCandidate::of_another(stored, matches)
        });
        // What cannot be named is not asked about.
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

    /// Which of them a 304 selects.
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
    /// As the one selected for the request.
    fn new(stored: &Arc<Stored>) -> Self {
        Self {
            stored: stored.clone(),
            etag: stored.fields.get(&header::ETAG),
            last_modified: stored.fields.get(&header::LAST_MODIFIED),
            matches: true,
        }
    }

    /// As another: it may be named by its tag, and no date but that of the selected one is sent.
    fn of_another(stored: &Arc<Stored>, matches: bool) -> Self {
        Self {
            last_modified: None,
            matches,
            ..Self::new(stored)
        }
    }

    /// Those that a condition may name it by. The `Last-Modified` of one that is not selected is not among them.
    pub fn validators(&self) -> Validators<'_> {
        Validators {
            etag: self.etag.as_ref(),
            last_modified: self.last_modified.as_ref(),
            date: self.stored.facts.date,
            matches: self.matches,
        }
    }
}
