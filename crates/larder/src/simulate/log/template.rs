//! Lines that a format string describes: nginx's `log_format`, or the `-F` of varnishncsa (Apache's `LogFormat`).

use super::{
    line::{Bad, Heed, Line},
    meaning::Meaning,
    names,
};
use std::borrow::Cow;

/// A parsed format string.
#[derive(Clone, Debug)]
pub struct Template {
    before: Vec<u8>,
    parts: Vec<Part>,
}

/// A part that varies, and the text after it.
#[derive(Clone, Debug)]
struct Part {
    meaning: Meaning,
    after: Vec<u8>,
}

/// Why a format string cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// No part of it varies.
    #[error("a format string names variables (nginx: $request) or directives (varnishncsa: %r)")]
    Constant,
    /// Two parts with nothing between them.
    #[error("there must be text between {0} and what follows it")]
    Touching(String),
    /// A part that every line needs is missing.
    #[error("the format has no field for {0}")]
    Without(&'static str),
    /// A brace that is not closed, or a lone `%` or `$`.
    #[error("the format breaks off after {0}")]
    Broken(String),
}

impl Template {
    /// Parses a format string.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn new(format: &str) -> Result<Self, Unusable> {
        let pieces = if format.contains('$') {
            variables(format)?
        } else {
            directives(format)?
        };
        let mut template = Self {
            before: Vec::new(),
            parts: Vec::new(),
        };
        let mut touching = None;
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    touching = None;
                    match template.parts.last_mut() {
                        Some(part) => part.after.extend_from_slice(text.as_bytes()),
                        None => template.before.extend_from_slice(text.as_bytes()),
                    }
                }
                Piece::Part(name, meaning) => {
                    if let Some(before) = touching.replace(name) {
                        return Err(Unusable::Touching(before));
                    }
                    template.parts.push(Part {
                        meaning,
                        after: Vec::new(),
                    });
                }
            }
        }
        template.check()
    }

    fn check(self) -> Result<Self, Unusable> {
        let has = |wanted: &[Meaning]| self.parts.iter().any(|part| wanted.contains(&part.meaning));
        if self.parts.is_empty() {
            return Err(Unusable::Constant);
        }
        if !has(&[Meaning::Time]) {
            return Err(Unusable::Without("the time"));
        }
        let in_parts = has(&[Meaning::Method]) && has(&[Meaning::Target, Meaning::Path]);
        if !has(&[Meaning::Request]) && !in_parts {
            return Err(Unusable::Without("the request"));
        }
        if !has(&[Meaning::Status]) {
            return Err(Unusable::Without("the status"));
        }
        Ok(self)
    }

    /// Whether it contains response fields, including `Vary`.
    pub(super) fn tells_vary(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| part.meaning == Meaning::ResponseField(http::header::VARY))
    }

    /// Parses a line.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse<'a>(&self, line: &'a [u8], heed: &Heed) -> Result<Line<'a>, Bad> {
        let mut rest = line.strip_prefix(self.before.as_slice()).ok_or(Bad::Form)?;
        let mut read = Line::default();
        for part in &self.parts {
            let (text, after) = until(rest, &part.after).ok_or(Bad::Form)?;
            rest = after;
            read.put(&part.meaning, unescaped(text), heed)?;
        }
        read.finish()
    }
}

/// Returns the text before `end` and the text after it. An escaped quote is not an end.
pub(super) fn until<'a>(text: &'a [u8], end: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let Some(first) = end.first() else {
        return Some((text, &[]));
    };
    let mut from = 0;
    while let Some(found) = memchr::memchr(*first, text.get(from..)?) {
        let at = from + found;
        let (before, rest) = text.split_at_checked(at)?;
        let escapes = before
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        let is_escaped = *first == b'"' && escapes % 2 == 1;
        if let (Some(after), false) = (rest.strip_prefix(end), is_escaped) {
            return Some((before, after));
        }
        from = at + 1;
    }
    None
}

/// Decodes `\xHH`, `\"`, `\\`, and JSON's `\uHHHH` and `\/`.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut at) = memchr::memchr(b'\\', text) else {
        return Cow::Borrowed(text);
    };
    let mut plain = Vec::with_capacity(text.len());
    plain.extend_from_slice(text.get(..at).unwrap_or_default());
    while let Some(byte) = text.get(at) {
        let rest = text.get(at + 1..).unwrap_or_default();
        at += match (byte, rest) {
            (b'\\', [b'x', high, low, ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                plain.push(hex(*high).unwrap_or_default() << 4 | hex(*low).unwrap_or_default());
                4
            }
            (b'\\', [b'u', b'0', b'0', high, low, ..])
                if hex(*high).is_some() && hex(*low).is_some() =>
            {
                plain.push(hex(*high).unwrap_or_default() << 4 | hex(*low).unwrap_or_default());
                6
            }
            (b'\\', [escaped @ (b'"' | b'\\' | b'/'), ..]) => {
                plain.push(*escaped);
                2
            }
            _ => {
                plain.push(*byte);
                1
            }
        };
    }
    Cow::Owned(plain)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

enum Piece {
    Text(String),
    /// A part as it is written, and its meaning.
    Part(String, Meaning),
}

/// Parses variables of nginx: `$name` and `${name}`.
fn variables(format: &str) -> Result<Vec<Piece>, Unusable> {
    let mut pieces = Vec::new();
    let mut parts = format.split('$');
    push_text(&mut pieces, parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = if let Some(braced) = part.strip_prefix('{') {
            braced
                .split_once('}')
                .ok_or_else(|| Unusable::Broken(format!("${part}")))?
        } else {
            let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = part.find(|letter: char| !in_name(letter));
            part.split_at(end.unwrap_or(part.len()))
        };
        if name.is_empty() {
            return Err(Unusable::Broken(format!("${part}")));
        }
        let meaning = names::nginx(name).unwrap_or(Meaning::Skip);
        pieces.push(Piece::Part(format!("${name}"), meaning));
        push_text(&mut pieces, rest);
    }
    Ok(pieces)
}

/// Parses directives of Apache and varnishncsa: `%r`, `%{Name}i`, `%>s`, `%%`.
fn directives(format: &str) -> Result<Vec<Piece>, Unusable> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some((text, directive)) = rest.split_once('%') {
        push_text(&mut pieces, text);
        let broken = || Unusable::Broken(format!("%{directive}"));
        let directive = directive.trim_start_matches(['>', '<', '!']);
        let (argument, after) = match directive.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(broken)?,
            None => ("", directive),
        };
        let mut letters = after.chars();
        let letter = letters.next().ok_or_else(broken)?;
        rest = letters.as_str();
        if letter == '%' {
            push_text(&mut pieces, "%");
            continue;
        }
        let meaning = names::ncsa(letter, argument).unwrap_or(Meaning::Skip);
        // `%t` comes in its own brackets, and with a space inside.
        if letter == 't' && argument.is_empty() {
            push_text(&mut pieces, "[");
            pieces.push(Piece::Part("%t".to_owned(), meaning));
            push_text(&mut pieces, "]");
        } else {
            pieces.push(Piece::Part(format!("%{letter}"), meaning));
        }
    }
    push_text(&mut pieces, rest);
    Ok(pieces)
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}
