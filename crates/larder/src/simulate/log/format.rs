//! The formats of logs, and their detection.

use super::{
    combined, json,
    line::{Bad, Heed, Line},
    template::{Template, Unusable},
    w3c::Columns,
};
use std::collections::HashSet;

/// The format of the lines of a log.
#[derive(Clone, Debug)]
pub enum Format {
    /// To be detected from the first lines.
    Auto,
    /// Common or combined, including Larder's own with its four more parts.
    Combined,
    /// An object on each line.
    Json,
    /// Columns with names.
    W3c,
    /// Described by a format string.
    Template(Box<Template>),
}

impl Format {
    /// Returns a format by its name, or from a format string.
    ///
    /// # Errors
    /// Why the text is neither.
    pub fn named(text: &str) -> Result<Self, Unusable> {
        Ok(match text {
            "auto" => Self::Auto,
            "combined" | "common" | "apache" | "nginx" | "varnish" | "varnishncsa" => {
                Self::Combined
            }
            "json" | "caddy" | "nginx-json" => Self::Json,
            "w3c" | "cloudfront" => Self::W3c,
            format => Self::Template(Box::new(Template::new(format)?)),
        })
    }

    /// Detects the format of a line.
    ///
    /// # Errors
    /// What is wrong with it, in the known format that it resembles.
    fn of(line: &[u8]) -> Result<Self, Bad> {
        let none = Heed::These(HashSet::new());
        if line.starts_with(b"#Fields:") {
            Ok(Self::W3c)
        } else if line.trim_ascii_start().starts_with(b"{") {
            json::parse(line, &none).map(|_| Self::Json)
        } else {
            combined::parse(line, &none).map(|_| Self::Combined)
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Auto => "unknown",
            Self::Combined => "combined",
            Self::Json => "JSON",
            Self::W3c => "W3C",
            Self::Template(_) => "format string",
        }
    }
}

/// The result of reading a line.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and mostly a line"
)]
pub enum Read<'a> {
    /// A request and its answer.
    Line(Line<'a>),
    /// An empty line, or a comment.
    Nothing,
    /// A line that was not understood.
    Bad(Bad),
}

/// Parses the lines of one log, one after another.
#[derive(Clone, Debug)]
pub struct Parser {
    format: Format,
    columns: Columns,
    heed: Heed,
}

impl Parser {
    /// A parser for `format` that reads the fields named by `heed` (all of them, if the log contains `Vary`).
    pub fn new(format: Format, heed: Heed) -> Self {
        let tells_vary = match &format {
            Format::Template(template) => template.tells_vary(),
            _ => false,
        };
        let heed = if tells_vary { Heed::All } else { heed };
        Self {
            format,
            columns: Columns::default(),
            heed,
        }
    }

    /// The format. It is known once a line was understood.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Parses a line, without its line end.
    pub fn read<'a>(&mut self, line: &'a [u8]) -> Read<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Read::Nothing;
        }
        if matches!(self.format, Format::Auto) {
            match Format::of(line) {
                Ok(format) => self.format = format,
                Err(_) if line.starts_with(b"#") => return Read::Nothing,
                Err(why) => return Read::Bad(bad(line, why)),
            }
        }
        let parsed = match &self.format {
            Format::Auto => Err(Bad::Form),
            Format::Combined => combined::parse(line, &self.heed),
            Format::Json => json::parse(line, &Heed::All),
            Format::Template(template) => template.parse(line, &self.heed),
            Format::W3c if line.starts_with(b"#") => {
                self.columns.read(line);
                if self.columns.tell_vary() {
                    self.heed = Heed::All;
                }
                return Read::Nothing;
            }
            Format::W3c if !self.columns.are_known() => Err(Bad::Form),
            Format::W3c => self.columns.parse(line, &self.heed),
        };
        match parsed {
            Ok(line) => Read::Line(line),
            Err(why) => Read::Bad(bad(line, why)),
        }
    }
}

/// Returns why a line is bad. If it has bytes that no text has, that says more than `why`.
fn bad(line: &[u8], why: Bad) -> Bad {
    let is_binary = |byte: &u8| *byte < b' ' && *byte != b'\t';
    if line.iter().any(is_binary) {
        Bad::Binary
    } else {
        why
    }
}
