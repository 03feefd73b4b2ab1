//! What is wrong with a configuration: each fault with its place and what to write instead.

use console::Term;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
    SourceSpan,
};
use std::{
    env,
    ffi::OsString,
    fmt::{self, Write},
    io::IsTerminal,
    ops::Range,
};

/// How many columns a line of words has where nobody says how wide the terminal is, and at most.
const PAGE: usize = 100;

/// Fewer columns than this leave no room for words beside the frame.
const NARROWEST: usize = 30;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, in one line.
    pub what: String,
    /// Bytes of the file that the caret points at; `None` where the fault is not in the file (a flag, a missing key).
    pub span: Option<Range<usize>>,
    /// Bytes of what it does not go together with.
    pub beside: Option<Range<usize>>,
    /// What to write instead.
    pub instead: Option<String>,
}

impl Fault {
    /// A fault at `span`.
    pub fn at(span: &Range<usize>, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            span: Some(span.clone()),
            beside: None,
            instead: None,
        }
    }

    /// A fault of no place in the file.
    pub fn anywhere(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            span: None,
            beside: None,
            instead: None,
        }
    }

    /// Points at what it does not go together with, too.
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

/// Everything that is wrong with one configuration, in the order of the file.
#[derive(Clone, Debug)]
pub struct Faults {
    file: String,
    text: String,
    list: Vec<Fault>,
}

impl Faults {
    /// The faults of the file called `file` with the content `text`.
    pub(crate) fn new(file: String, text: String, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.span.as_ref().map_or(usize::MAX, |span| span.start));
        Self {
            file,
            text,
            list: faults,
        }
    }

    /// The faults one by one, in the order of the file.
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// The faults as [`render`](Self::render) has them for who reads `to`, which is standard error: in colours on a terminal that
    /// shows them and may (`NO_COLOR`, see no-color.org), and not wider than that.
    pub fn render_for(&self, to: &impl IsTerminal) -> String {
        if !to.is_terminal() {
            return self.render(false);
        }
        let color = may_color(env::var_os("NO_COLOR"), env::var_os("TERM"));
        let columns = Term::stderr().size_checked();
        let width = columns.map_or(PAGE, |(_, columns)| usize::from(columns));
        self.rendered(color, width.clamp(NARROWEST, PAGE))
    }

    /// The faults for a person to read, each with its line and a caret; with `color`, in the terminal's colours.
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
        let source = NamedSource::new(&self.file, self.text.clone());
        // Writing into a string does not fail.
        let mut out = String::new();
        for fault in &self.list {
            let shown = Shown {
                fault,
                source: &source,
            };
            let _ = handler.render_report(&mut out, &shown);
            out.push('\n');
        }
        let ending = match self.list.len() {
            1 => "1 fault".to_owned(),
            several => format!("{several} faults"),
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

/// A fault beside the text it points into, as miette wants it.
#[derive(Debug)]
struct Shown<'a> {
    fault: &'a Fault,
    source: &'a NamedSource<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.what)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let instead = self.fault.instead.as_ref()?;
        Some(Box::new(instead))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.fault.span.as_ref()?;
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.fault.span.clone()?;
        let all = [Some(span), self.fault.beside.clone()];
        let spans = all.into_iter().flatten().map(SourceSpan::from);
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
