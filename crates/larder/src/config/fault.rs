//! Faults of a configuration, each with its place and what to write instead.

mod excerpt;

use console::Term;
use excerpt::Excerpt;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity,
    SourceCode, SourceSpan,
};
use std::{
    env,
    ffi::OsString,
    fmt::{self, Write},
    io::IsTerminal,
    ops::Range,
};

/// Columns of a line of words, if the width of the terminal is not known. Also the largest number.
const PAGE: usize = 100;

/// With fewer columns than this, there is no room for words beside the frame.
const NARROWEST: usize = 30;

/// Largest number of characters shown of a message, which may quote the file.
const LONGEST_MESSAGE: usize = 400;

/// Largest number of characters shown of what to write instead. All keys of a table fit.
const LONGEST_INSTEAD: usize = 1500;

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

    /// Returns each fault as one line for the log, with its place.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let excerpt = Excerpt::of(&self.text);
        self.list.iter().map(move |fault| {
            let mut line = self.file.clone();
            // Writing into a string does not fail.
            if let Some(span) = &fault.span {
                let (row, column) = excerpt.line_and_column(span.start);
                let _ = write!(line, ":{row}:{column}");
            }
            let _ = write!(line, ": {}", cut(&fault.what, LONGEST_MESSAGE));
            if let Some(instead) = &fault.instead {
                let _ = write!(line, "; {}", cut(instead, LONGEST_INSTEAD));
            }
            line
        })
    }

    /// Returns the faults as [`render`](Self::render) does, adapted to `to`, which is standard error. On a terminal
    /// they are in colours, if it shows them and the user allows them (`NO_COLOR`, see no-color.org), and not wider
    /// than the terminal.
    pub fn render_for(&self, to: &impl IsTerminal) -> String {
        if !to.is_terminal() {
            return self.render(false);
        }
        let color = may_color(env::var_os("NO_COLOR"), env::var_os("TERM"));
        let columns = Term::stderr().size_checked();
        let width = columns.map_or(PAGE, |(_, columns)| usize::from(columns));
        self.rendered(color, width.clamp(NARROWEST, PAGE))
    }

    /// Returns the faults as text for people, each with its line and a caret. `color`: in the terminal's colours.
    pub fn render(&self, color: bool) -> String {
        self.rendered(color, PAGE)
    }

    fn rendered(&self, color: bool, width: usize) -> String {
        let theme = if color {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width)
            .with_links(false);
        let excerpt = Excerpt::of(&self.text);
        let source = NamedSource::new(&self.file, excerpt.text.clone());
        // Writing into a string does not fail.
        let mut out = String::new();
        for fault in &self.list {
            let shown = Shown::new(fault, self.severity, &excerpt, &source);
            let _ = handler.render_report(&mut out, &shown);
            out.push('\n');
        }
        let noun = match self.severity {
            Severity::Error => "fault",
            Severity::Warning | Severity::Advice => "warning",
        };
        let ending = match self.list.len() {
            1 => format!("1 {noun}"),
            several => format!("{several} {noun}s"),
        };
        let _ = writeln!(out, "{ending} in {}", self.file);
        out
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Faults {}

/// A fault and the text that it points into, as miette expects it.
#[derive(Debug)]
struct Shown<'a> {
    what: String,
    instead: Option<String>,
    severity: Severity,
    /// Byte ranges in the excerpt of the text.
    spans: Vec<Range<usize>>,
    source: &'a NamedSource<String>,
}

impl<'a> Shown<'a> {
    fn new(
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

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
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

fn may_color(no_color: Option<OsString>, terminal: Option<OsString>) -> bool {
    no_color.is_none_or(|said| said.is_empty()) && terminal.is_none_or(|kind| kind != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_those_who_want_and_can_show_them() {
        for (no_color, terminal, may) in [
            (None, Some("xterm"), true),
            (Some(""), None, true),
            (Some("1"), Some("xterm"), false),
            (None, Some("dumb"), false),
        ] {
            let [no_color, terminal] = [no_color, terminal].map(|text| text.map(OsString::from));
            assert_eq!(may_color(no_color, terminal), may);
        }
    }
}
