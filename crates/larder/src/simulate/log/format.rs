//! Which format a log has.

use super::{
    combined, json,
    line::{Bad, Heed, Line},
    template::{Template, Unusable},
    w3c::Columns,
};
use std::collections::HashSet;

/// How the lines of a log are written.
#[derive(Clone, Debug)]
pub enum Format {
    /// To be found out from the first lines.
    Auto,
    /// Common or combined, Larder's own with its four parts more.
    Combined,
    /// An object a line.
    Json,
    /// Columns with names.
    W3c,
    /// As a format string says.
    Template(Box<Template>),
}

impl Format {
    /// A format by its name, or a format string.
    ///
    /// # Errors
    /// Why it is neither.
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

    /// What a line looks like; `None` where it looks like nothing that is known.
    fn of(line: &[u8]) -> Option<Self> {
        let none = || Heed::These(HashSet::new());
        if line.starts_with(b"#Fields:") {
            Some(Self::W3c)
        } else if line.trim_ascii_start().starts_with(b"{") {
            json::parse(line, &none()).is_ok().then_some(Self::Json)
        } else {
            combined::parse(line, &none())
                .is_ok()
                .then_some(Self::Combined)
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

/// What a line came to.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and mostly a line"
)]
pub enum Read<'a> {
    /// A request and its answer.
    Line(Line<'a>),
    /// Empty, or words for people.
    Nothing,
    /// Not understood.
    Bad(Bad),
}

/// Reads the lines of one log, one after the other.
#[derive(Clone, Debug)]
pub struct Parser {
    format: Format,
    columns: Columns,
    heed: Heed,
}

impl Parser {
    /// A parser that reads `format`, and of the fields those that `heed` names (all, where the log tells of `Vary`).
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

    /// The format, which is known once a line was understood.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Reads a line, without its end.
    pub fn read<'a>(&mut self, line: &'a [u8]) -> Read<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Read::Nothing;
        }
        if matches!(self.format, Format::Auto) {
            match Format::of(line) {
                Some(format) => self.format = format,
                None if line.starts_with(b"#") => return Read::Nothing,
                None => return Read::Bad(bad(line, Bad::Form)),
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

/// Bytes that no text has say more than that the line is not understood.
fn bad(line: &[u8], why: Bad) -> Bad {
    let is_binary = |byte: &u8| *byte < b' ' && *byte != b'\t';
    if line.iter().any(is_binary) {
        Bad::Binary
    } else {
        why
    }
}
