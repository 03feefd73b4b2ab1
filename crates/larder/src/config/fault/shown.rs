//! One fault as miette draws it: with its words cut, and its places in the excerpt.

use super::{Fault, excerpt::Excerpt};
use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode, SourceSpan};
use std::{
    fmt::{self, Write},
    ops::Range,
};

/// Largest number of characters shown of a message, which may quote the file.
pub(super) const LONGEST_MESSAGE: usize = 400;

/// Largest number of characters shown of what to write instead. All keys of a table fit.
pub(super) const LONGEST_INSTEAD: usize = 1500;

/// A fault and the text that it points into, as miette expects it.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    what: String,
    instead: Option<String>,
    severity: Severity,
    /// Byte ranges in the excerpt of the text.
    spans: Vec<Range<usize>>,
    source: &'a NamedSource<String>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(
        fault: &Fault,
        severity: Severity,
        excerpt: &Excerpt,
        source: &'a NamedSource<String>,
    ) -> Self {
        let mut what = cut(&fault.what, LONGEST_MESSAGE);
        let place = |span: &Range<usize>| excerpt.place(span);
        let spans = match fault.span.as_ref().map(|span| (span, place(span))) {
            Some((_, Some(shown))) => {
                let beside = fault.beside.as_ref().and_then(place);
                [shown].into_iter().chain(beside).collect()
            }
            Some((span, None)) => {
                let (line, column) = excerpt.line_and_column(span.start);
                let _ = write!(what, " (line {line}, column {column})");
                Vec::new()
            }
            None => Vec::new(),
        };
        Self {
            what,
            instead: fault
                .instead
                .as_ref()
                .map(|instead| cut(instead, LONGEST_INSTEAD)),
            severity,
            spans,
            source,
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let instead = self.instead.as_ref()?;
        Some(Box::new(instead))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.spans.first()?;
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.spans.first()?;
        let spans = self.spans.iter().cloned().map(SourceSpan::from);
        Some(Box::new(
            spans.map(|span| LabeledSpan::new_with_span(None, span)),
        ))
    }
}

/// Cuts `text` after `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
