//! The list syntax of `Cache-Control` and `Pragma` (RFC 9111 section 5.2), read without allocation.
//!
//! ```text
//! Cache-Control   = #cache-directive
//! cache-directive = token [ "=" ( token / quoted-string ) ]
//! ```
//! Where a field departs from this syntax, as much as possible is still read, so that no fault hides a `private` behind
//! it. White space around `=` is skipped. A missing comma is read as if it were there. A quotation mark that is never
//! closed quotes nothing. Bytes that belong to no token end one. A directive that touches such bytes counts as having
//! an argument that cannot be read.

use super::MOST_SECONDS;
use crate::fields::is_tchar;
use http::HeaderName;

/// The length of the longest directive name that we know: `stale-while-revalidate`.
const LONGEST: usize = 22;

/// What follows a directive's `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    /// There is no `=`.
    Absent,
    /// A token, or the inside of a quoted string; empty if nothing follows the `=`.
    Text(&'a [u8]),
    /// Neither a token nor a quoted string.
    Malformed,
}

impl<'a> Argument<'a> {
    pub(super) const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) const fn text(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Malformed => None,
        }
    }

    /// The argument as `delta-seconds`; `None` if it is absent or not only digits.
    pub(super) fn seconds(&self) -> Option<u32> {
        self.text().and_then(delta_seconds)
    }
}

/// One member of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directive<'a> {
    /// The name as sent, in any case.
    pub(super) name: &'a [u8],
    pub(super) argument: Argument<'a>,
}

/// A directive's name in lower case, to compare with the names that we know; empty if it is longer than all of them.
pub(super) struct LowerName {
    bytes: [u8; LONGEST],
    length: usize,
}

impl std::ops::Deref for LowerName {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Directive<'_> {
    pub(super) fn lower_name(&self) -> LowerName {
        let mut bytes = [0; LONGEST];
        let length = match bytes.get_mut(..self.name.len()) {
            Some(room) => {
                room.copy_from_slice(self.name);
                room.make_ascii_lowercase();
                self.name.len()
            }
            None => 0,
        };
        LowerName { bytes, length }
    }
}

/// Iterates over the directives of one field line, unknown ones included.
pub(super) fn directives(line: &[u8]) -> impl Iterator<Item = Directive<'_>> {
    of_words(line, is_tchar)
}

/// As [`directives`], for names and arguments that consist of the bytes that `is_word` accepts.
pub(super) fn of_words(
    line: &[u8],
    is_word: impl Fn(u8) -> bool,
) -> impl Iterator<Item = Directive<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            let before = skip_while(rest, is_end);
            rest = skip_while(before, |byte| !is_word(byte) && byte != b'=');
            if rest.is_empty() {
                return None;
            }
            let touches = rest.len() < before.len() && touched(before, rest);
            let (name, after) = split_where(rest, |byte| !is_word(byte));
            let behind_space = skip_while(after, is_space);
            let mut found = match after.first() {
                Some(next) if !is_end(*next) => Argument::Malformed,
                _ => Argument::Absent,
            };
            rest = after;
            if let Some(value) = behind_space.strip_prefix(b"=") {
                let text;
                (text, rest) = argument(skip_while(value, is_space), &is_word);
                found = match skip_while(rest, is_space).first() {
                    None | Some(b',') => Argument::Text(text),
                    // `max-age=1 0 0`: nobody can tell what was meant, but what follows may still be a directive.
                    Some(_) => Argument::Malformed,
                };
            }
            if touches {
                found = Argument::Malformed;
            }
            if !name.is_empty() {
                return Some(Directive {
                    name,
                    argument: found,
                });
            }
        }
    })
}

/// Whether the part of `before` that was skipped, up to `rest`, ends in a byte that belongs to no list.
fn touched(before: &[u8], rest: &[u8]) -> bool {
    let skipped = before.len() - rest.len();
    let last = before.get(skipped.saturating_sub(1));
    last.is_some_and(|byte| !is_end(*byte))
}

/// Reads an argument at the start of `text`, a quoted string or a token. Returns it, empty if it is neither, and the
/// rest of `text`.
fn argument(text: &[u8], is_word: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let quoted = text.strip_prefix(b"\"").and_then(closed);
    quoted.unwrap_or_else(|| split_where(text, |byte| !is_word(byte)))
}

/// Splits after the quotation mark that closes a quoted string; `None` if none does. Escapes are not resolved: no
/// argument that we know needs one, and a backslash makes an argument unreadable.
fn closed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut escaped = false;
    let end = text.iter().position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Parses `delta-seconds` (RFC 9111 section 1.2.2): digits only, capped at [`MOST_SECONDS`].
pub(crate) fn delta_seconds(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u32, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        Some(
            sum.saturating_mul(10)
                .saturating_add(digit)
                .min(MOST_SECONDS),
        )
    })
}

/// A comma-separated list of at least one field name; `None` if it is anything else.
pub(super) fn field_names(list: &[u8]) -> Option<Vec<HeaderName>> {
    let names = list
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty())
        .map(|name| HeaderName::from_bytes(name).ok())
        .collect::<Option<Vec<_>>>()?;
    (!names.is_empty()).then_some(names)
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const fn is_end(byte: u8) -> bool {
    is_space(byte) || byte == b','
}

fn skip_while(text: &[u8], skipped: impl Fn(u8) -> bool) -> &[u8] {
    split_where(text, |byte| !skipped(byte)).1
}

/// Splits before the first byte that `is_end` accepts.
pub(super) fn split_where(text: &[u8], is_end: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| is_end(*byte));
    text.split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, &[]))
}
