//! How applications read a cookie where they do not take it as it is written: its name, its value, and where it ends.

use super::Cookie;
use memchr::{memchr, memchr3};
use rules::key::decoded;
use std::mem;

impl<'a> Cookie<'a> {
    /// Whether `is_it` holds for one of the other names that applications may give it. PHP replaces a dot, a space and
    /// an opening bracket with an underscore. It takes what precedes brackets for the name of a list, and what precedes
    /// a zero byte for the whole name. Before version 7.4.11 it also decoded names. Python and Node remove white space
    /// as Unicode has it ([`trims`]).
    pub(super) fn may_be_called(
        &self,
        mut is_it: impl FnMut(&mut dyn Iterator<Item = u8>) -> bool,
    ) -> bool {
        let is_special =
            |byte: &u8| matches!(byte, b'.' | b'[' | b'%' | b'+') || !byte.is_ascii_graphic();
        if !self.spelled.iter().any(is_special) {
            return false;
        }
        let plain = |byte| match byte {
            b'.' | b' ' | b'[' => b'_',
            other => other,
        };
        let decoded = || decoded(self.spelled).skip_while(u8::is_ascii_whitespace);
        is_it(&mut decoded().map(plain))
            || is_it(&mut decoded().take_while(|byte| *byte != b'[').map(plain))
            || is_it(&mut decoded().take_while(|byte| *byte != 0).map(plain))
            || is_it(&mut decoded())
            || trims(self.spelled)
                .into_iter()
                .any(|trimmed| is_it(&mut trimmed.iter().copied()))
    }

    /// Returns the values that applications may read, if they may differ from what is written: trimmed, without
    /// quotation marks, decoded, and without the backslashes of Python's quoted strings.
    pub(super) fn values(&self) -> Vec<Vec<u8>> {
        let value = self.value.trim_ascii();
        let is_special = |byte: &u8| matches!(byte, b'"' | b'%' | b'+') || !byte.is_ascii_graphic();
        if !value.iter().any(is_special) {
            return Vec::new();
        }
        let readings = |value: &'a [u8]| {
            let begun = value.strip_prefix(b"\"");
            let inner = begun.and_then(|begun| begun.strip_suffix(b"\""));
            let quoted = begun.map(unescaped);
            [Some(decoded(inner.unwrap_or(value)).collect()), quoted]
        };
        let all = [value].into_iter().chain(trims(value));
        all.flat_map(readings).flatten().collect()
    }

    /// Returns the same cookie with a shorter value, for applications that [end](Self::ends_within) it earlier.
    pub(super) fn cut(self) -> impl Iterator<Item = Self> {
        let value = self.value.trim_ascii();
        let ends: [fn(&u8) -> bool; 2] = [u8::is_ascii_whitespace, |byte| *byte == b','];
        ends.into_iter().filter_map(move |is_end| {
            let at = value.iter().position(is_end)?;
            let value = value.get(..at)?;
            Some(Self { value, ..self })
        })
    }

    /// Returns the cookies that follow within this one, for applications that [end](Self::ends_within) it earlier.
    /// They have no value here, since there are many ways to read where that ends.
    pub(super) fn within(self) -> impl Iterator<Item = Self> {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'"');
        let mut words = self.name().rsplit(is_end);
        let last = words.next().filter(|_| words.next().is_some());
        let words = self.value.split(is_end).skip(1);
        let mut before: &[u8] = b"";
        let begun = words
            .filter(|word| !word.is_empty())
            .filter_map(move |word| {
                let before = mem::replace(&mut before, word);
                match word.iter().position(|byte| *byte == b'=')? {
                    0 => Some(before),
                    at => word.get(..at),
                }
            });
        let names = last.into_iter().chain(begun);
        let names = names.filter(|name| !name.is_empty());
        names.map(|spelled| Self {
            spelled,
            value: b"",
        })
    }

    /// Whether some applications end it before a semicolon: at white space, as Python's `SimpleCookie` does; at a comma,
    /// as RFC 2109 section 4.3.4 said and Perl's `CGI` still does; behind a quoted string, as Mojolicious does.
    pub(super) fn ends_within(&self) -> bool {
        let has_end =
            |text| memchr3(b' ', b'\t', b',', text).is_some() || memchr(b'"', text).is_some();
        has_end(self.value) || has_end(self.name())
    }
}

/// Returns `text` without white space around it as Unicode has it: read as UTF-8, and in whatever way text in ASCII is
/// read, since the bytes of such white space, in Latin-1 too, are all beyond ASCII.
fn trims(text: &[u8]) -> [&[u8]; 2] {
    let is_white = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    let trimmed = std::str::from_utf8(text).map(|text| text.trim_matches(is_white).as_bytes());
    [trimmed.unwrap_or(text), ascii_within(text)]
}

fn ascii_within(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && !first.is_ascii_graphic()
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && !last.is_ascii_graphic()
    {
        text = rest;
    }
    text
}

/// Decodes a quoted string as Python does, from behind its first quotation mark.
fn unescaped(mut coded: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(coded.len());
    loop {
        let (byte, rest) = match coded {
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                rest @ ..,
            ] => ((a & 3) << 6 | (b & 7) << 3 | (c & 7), rest),
            [] | [b'"', ..] => return plain,
            [b'\\', byte, rest @ ..] | [byte, rest @ ..] => (*byte, rest),
        };
        plain.push(byte);
        coded = rest;
    }
}
