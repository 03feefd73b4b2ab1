//! Faults of a configuration, each with its place and what to write instead. How they look is in [`text`].

mod excerpt;
mod shown;
mod text;

use miette::Severity;
use std::ops::Range;

/// One fault of a configuration, or a warning about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, in one line.
    pub what: String,
    /// The bytes of the file that the caret points at. `None` if the fault is not in the file (a flag, a missing key).
    pub span: Option<Range<usize>>,
    /// The bytes of the other place with which it conflicts.
    pub beside: Option<Range<usize>>,
    /// What to write instead.
    pub instead: Option<String>,
    /// Whether the machine is at fault, and nothing that was written is wrong.
    pub is_of_machine: bool,
}

impl Fault {
    /// Creates a fault at `span`.
    pub fn at(span: &Range<usize>, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            span: Some(span.clone()),
            beside: None,
            instead: None,
            is_of_machine: false,
        }
    }

    /// Creates a fault without a place in the file.
    pub fn anywhere(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            span: None,
            beside: None,
            instead: None,
            is_of_machine: false,
        }
    }

    /// Marks the fault as the machine's ([`Self::is_of_machine`]).
    #[must_use]
    pub const fn of_machine(mut self) -> Self {
        self.is_of_machine = true;
        self
    }

    /// Also points at the place with which it conflicts.
    #[must_use]
    pub fn beside(mut self, other: Option<&Range<usize>>) -> Self {
        self.beside = other.cloned();
        self
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn instead(mut self, instead: impl Into<String>) -> Self {
        self.instead = Some(instead.into());
        self
    }
}

/// Everything that is wrong with one configuration, in the order of the file; or all warnings about one that is in
/// order.
#[derive(Clone, Debug)]
pub struct Faults {
    file: String,
    text: String,
    list: Vec<Fault>,
    severity: Severity,
}

impl Faults {
    /// Collects the faults of the file called `file` with the content `text`.
    pub(crate) fn new(file: String, text: String, faults: Vec<Fault>) -> Self {
        Self::of(Severity::Error, file, text, faults)
    }

    /// Collects the warnings about that file.
    pub(crate) fn warnings(file: String, text: String, warnings: Vec<Fault>) -> Self {
        Self::of(Severity::Warning, file, text, warnings)
    }

    fn of(severity: Severity, file: String, text: String, mut faults: Vec<Fault>) -> Self {
        // Of two equal faults, the one that helps comes first and is kept.
        faults.sort_by_key(|fault| {
            let start = fault.span.as_ref().map_or(usize::MAX, |span| span.start);
            (start, fault.instead.is_none())
        });
        faults.dedup_by(|one, before| {
            one.span.is_some() && one.span == before.span && one.what == before.what
        });
        Self {
            file,
            text,
            list: faults,
            severity,
        }
    }

    /// The faults one by one, in the order of the file.
    pub fn list(&self) -> &[Fault] {
        &self.list
    }
}
