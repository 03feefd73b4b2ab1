//! The counts of a run.

use super::outcome::Outcome;
use std::fmt;

/// The number of pages by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pages that are new.
    pub new: usize,
    /// Pages whose file was replaced.
    pub changed: usize,
    /// Pages that are unchanged, including redirects.
    pub same: usize,
    /// Redirects that are new or lead elsewhere.
    pub redirects: usize,
    /// Pages that an unfinished run had finished.
    pub resumed: usize,
    /// Answers that are not pages or not for everybody, by reason.
    pub refused: usize,
    /// Pages that the application does not have (404, 410).
    pub missing: usize,
    /// Pages that could not be fetched.
    pub failed: usize,
    /// Pages whose name a file of somebody else has.
    pub blocked: usize,
    /// Pages that were removed.
    pub removed: usize,
    /// Pages that were published earlier, were not found any more, and stay.
    pub kept: usize,
}

impl Tally {
    /// Counts one page.
    pub fn count(&mut self, outcome: &Outcome) {
        let count = match outcome {
            Outcome::New => &mut self.new,
            Outcome::Changed => &mut self.changed,
            Outcome::Same => &mut self.same,
            Outcome::Resumed => &mut self.resumed,
            Outcome::Redirect => &mut self.redirects,
            Outcome::Refused(_) => &mut self.refused,
            Outcome::Missing(_) => &mut self.missing,
            Outcome::Failed(_) => &mut self.failed,
            Outcome::Blocked(_) => &mut self.blocked,
        };
        *count += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = [
            ("redirected", self.redirects),
            ("done before", self.resumed),
            ("not published", self.refused),
            ("not found", self.missing),
            ("failed", self.failed),
            ("in the way of other files", self.blocked),
            ("removed", self.removed),
            ("kept though not found any more", self.kept),
        ];
        let Self {
            new, changed, same, ..
        } = self;
        write!(f, "{new} new, {changed} changed, {same} unchanged")?;
        for (what, count) in rest.into_iter().filter(|(_, count)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}
