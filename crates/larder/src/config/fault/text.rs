//! Faults as text: one line each for the log, or drawn for people, with the line of the file and a caret.

use super::{
    Faults,
    excerpt::Excerpt,
    shown::{LONGEST_INSTEAD, LONGEST_MESSAGE, Shown, cut},
};
use console::Term;
use miette::{GraphicalReportHandler, GraphicalTheme, NamedSource, Severity};
use std::{
    env,
    ffi::OsString,
    fmt::{self, Write},
    io::IsTerminal,
};

/// Columns of a line of words, if the width of the terminal is not known. Also the largest number.
const PAGE: usize = 100;

/// With fewer columns than this, there is no room for words beside the frame.
const NARROWEST: usize = 30;

impl Faults {
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
