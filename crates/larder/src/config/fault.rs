//! What is wrong with a configuration: each fault with its place and what to write instead.

mod excerpt;

use console::Term;
use excerpt::Excerpt;
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

/// Letters of a message that are shown at most: what somebody wrote may stand in it.
const LONGEST_MESSAGE: usize = 400;

/// Letters of what to write instead; all keys of a table have room in it.
const LONGEST_INSTEAD: usize = 1500;

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
    /// Whether it is the machine's: nothing that was written is wrong.
    pub is_of_machine: bool,
}

impl Fault {
    /// A fault at `span`.
    pub fn at(span: &Range<usize>, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            span: Some(span.clone()),
            beside: None,
            instead: None,
            is_of_machine: false,
        }
    }

    /// A fault of no place in the file.
    pub fn anywhere(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            span: None,
            beside: None,
            instead: None,
            is_of_machine: false,
        }
    }

    /// Says that it is the machine's.
    #[must_use]
    pub const fn of_machine(mut self) -> Self {
        self.is_of_machine = true;
        self
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
        // Of one that was found twice, what helps stands first.
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
        let excerpt = Excerpt::of(&self.text);
        let source = NamedSource::new(&self.file, excerpt.text.clone());
        // Writing into a string does not fail.
        let mut out = String::new();
        for fault in &self.list {
            let shown = Shown::new(fault, &excerpt, &source);
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
    what: String,
    instead: Option<String>,
    /// In what is shown of the text.
    spans: Vec<Range<usize>>,
    source: &'a NamedSource<String>,
}

impl<'a> Shown<'a> {
    fn new(fault: &Fault, excerpt: &Excerpt, source: &'a NamedSource<String>) -> Self {
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
