//! W3C extended logs: a line that begins with `#Fields:` names the columns. `CloudFront` separates them by tabs, others
//! by spaces.

use super::{
    line::{Bad, Heed, Line},
    meaning::Meaning,
    names,
};
use std::borrow::Cow;

/// The columns that were named.
#[derive(Clone, Debug, Default)]
pub struct Columns(Vec<Meaning>);

impl Columns {
    /// Reads a line that begins with `#`: names of columns, or a comment.
    pub fn read(&mut self, line: &[u8]) {
        let Some(names) = line.strip_prefix(b"#Fields:") else {
            return;
        };
        let names = String::from_utf8_lossy(names);
        let meaning = |name: &str| names::key(name).unwrap_or(Meaning::Skip);
        self.0 = names.split_ascii_whitespace().map(meaning).collect();
    }

    /// Whether the columns have names.
    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether there is a column for `Vary`.
    pub(super) fn tell_vary(&self) -> bool {
        self.0.contains(&Meaning::ResponseField(http::header::VARY))
    }

    /// Parses a line.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse<'a>(&self, line: &'a [u8], heed: &Heed) -> Result<Line<'a>, Bad> {
        let by = if memchr::memchr(b'\t', line).is_some() {
            b'\t'
        } else {
            b' '
        };
        let mut read = Line::default();
        let mut texts = line.split(|byte| *byte == by);
        for meaning in &self.0 {
            let text = texts.next().ok_or(Bad::Form)?;
            read.put(meaning, plain(meaning, text), heed)?;
        }
        read.finish()
    }
}

/// Decodes a text. Fields are percent-encoded, and spaces in them are sometimes encoded twice or as plus signs. A
/// target is as it came.
fn plain<'a>(meaning: &Meaning, text: &'a [u8]) -> Cow<'a, [u8]> {
    let is_field = matches!(
        meaning,
        Meaning::RequestField(_) | Meaning::ResponseField(_)
    );
    if !is_field || memchr::memchr(b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| {
            after
                .get(at)
                .and_then(|byte| char::from(*byte).to_digit(16))
        };
        rest = if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            plain.push((high << 4 | low) as u8);
            after.get(2..).unwrap_or_default()
        } else {
            plain.push(*first);
            after
        };
    }
    Cow::Owned(plain)
}
