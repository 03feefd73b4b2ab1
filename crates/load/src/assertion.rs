//! Assertions on a result, such as `p99<50ms`, for pipelines.

mod figure;
mod read;

use crate::figures::{PERCENTILES, Target};
use figure::Figure;
use serde::Serialize;
use std::fmt;

#[cfg(test)]
mod tests;

/// An assertion about a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// As it was written.
    pub text: String,
    figure: Figure,
    relation: Relation,
    /// The bound, in the figure's own unit.
    bound: f64,
}

/// Whether an assertion holds for a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// As it was written.
    pub text: String,
    /// The target's name.
    pub target: String,
    /// Whether it holds. An assertion about something that was not measured does not hold.
    pub holds: bool,
    /// The value that was found, in words.
    pub found: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// What is wrong with an assertion. The message is for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(String);

impl Assertion {
    /// Reads `FIGURE RELATION VALUE`, with or without spaces. Relations are `<`, `<=`, `>`, `>=`.
    ///
    /// # Errors
    /// There is no such figure, or the value does not fit it.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| Wrong(format!("'{text}' lacks one of < <= > >=, as in 'p99<50ms'")))?;
        let (name, rest) = text.split_at(at);
        let relations = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Less),
            (">", Relation::More),
        ];
        let (relation, value) = relations
            .iter()
            .find_map(|(sign, relation)| Some((*relation, rest.strip_prefix(sign)?.trim())))
            .ok_or_else(|| Wrong(format!("'{text}' lacks one of < <= > >=")))?;
        let (figure, bound) = read::bound(name.trim(), value)?;
        let text = text.to_owned();
        Ok(Self {
            text,
            figure,
            relation,
            bound,
        })
    }

    /// Returns the percentile that it relies on, in percent.
    pub fn percentile(&self) -> Option<f64> {
        let Figure::Percentile(wanted) = self.figure else {
            return None;
        };
        let mut named = PERCENTILES.iter();
        named
            .find(|(name, _)| *name == wanted)
            .map(|(_, percent)| *percent)
    }

    /// Whether it needs a process to be watched.
    pub fn needs_process(&self) -> bool {
        matches!(self.figure, Figure::Cpu | Figure::Memory)
    }

    /// Whether it holds.
    pub fn judge(&self, target: &Target) -> Verdict {
        let at_most = matches!(self.relation, Relation::Less | Relation::AtMost);
        let is_of_waiting = at_most && self.figure.is_of_waiting();
        let found = match self.figure.of(target) {
            _ if is_of_waiting && target.hung => None,
            // An answer that says nothing may have come from anywhere. Whoever wants many hits gains nothing from it.
            Some(_) if !at_most && self.figure.is_of_caches() => self.figure.of_all(target),
            found if is_of_waiting => match (found, self.figure.at_least(target)) {
                (Some(found), Some(least)) => Some(found.max(least)),
                (found, _) => found,
            },
            found => found,
        };
        let holds = found.is_some_and(|found| match self.relation {
            Relation::Less => found < self.bound,
            Relation::AtMost => found <= self.bound,
            Relation::More => found > self.bound,
            Relation::AtLeast => found >= self.bound,
        });
        let unknown = || match target.unanswered {
            left if is_of_waiting && target.hung => format!(
                "not known: {} requests had no answer at the end, the oldest after {:.0} ms",
                left.requests, left.oldest_ms
            ),
            _ => "not measured".to_owned(),
        };
        let base = self.figure.base(target, at_most);
        let found = found.map_or_else(unknown, |found| self.figure.words(found) + &base);
        Verdict {
            text: self.text.clone(),
            target: target.name.clone(),
            holds,
            found,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            target,
            found,
            ..
        } = self;
        let holds = if self.holds { "holds" } else { "does not hold" };
        write!(f, "{text} {holds} for {target}: {found}")
    }
}
