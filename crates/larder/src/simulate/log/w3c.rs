//! W3C extended logs: a line that begins with `#Fields:` names the columns. `CloudFront` separates them by tabs, others
//! by spaces.

use super::{
    line::{Bad, Heed, Line},
    names,
    slot::Slot,
};
use std::borrow::Cow;

/// The columns that were named.
#[derive(Clone, Debug, Default)]
pub struct Columns(Vec<Slot>);

impl Columns {
    /// Reads a line that begins with `#`: names of columns, or a comment.
    pub fn read(&mut self, line: &[u8]) {
        let Some(names) = line.strip_prefix(b"#Fields:") else {
            return;
        };
        let names = String::from_utf8_lossy(names);
        let slot = |name: &str| names::key(name).unwrap_or(Slot::Skip);
        self.0 = names.split_ascii_whitespace().map(slot).collect();
    }

    /// Whether the columns have names.
    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether there is a column for `Vary`.
    pub(super) fn tell_vary(&self) -> bool {
        self.0.contains(&Slot::ResponseField(http::header::VARY))
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
        for slot in &self.0 {
            let text = texts.next().ok_or(Bad::Form)?;
            read.put(slot, plain(slot, text), heed)?;
        }
        read.finish()
    }
}

/// Decodes a text. Fields are percent-encoded, and spaces in them are sometimes encoded twice or as plus signs. A
/// target is as it came.
fn plain<'a>(slot: &Slot, text: &'a [u8]) -> Cow<'a, [u8]> {
    let is_field = matches!(slot, Slot::RequestField(_) | Slot::ResponseField(_));
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
