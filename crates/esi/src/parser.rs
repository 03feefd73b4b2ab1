//! Turns bytes into tokens. [`Parser`] goes from mark to mark (`text`), or past bytes in which no mark counts
//! (`skipped`). `marks` finds what begins a mark, and `elements` knows what a tag opens and closes.

mod elements;
mod forks;
mod html;
mod marks;
mod skipped;
#[cfg(test)]
mod tests;
mod text;

use crate::{Span, Token};
use bytes::{Bytes, BytesMut};
use elements::{Element, OpenElement};
use forks::Forks;
use std::collections::VecDeque;

/// The length of the longest tag, in bytes. A longer one is text.
pub const MOST_TAG: usize = 8 << 10;

/// The greatest number of elements that may be open within one another. One opened beyond that is left out with all its
/// content.
pub const MOST_OPEN: usize = 16;

/// Turns a body into tokens, piece by piece. Keeps no more than the last piece and the beginning of a tag.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// The bytes that came and are not read yet, or were just read.
    window: Bytes,
    /// The offset of `window` in the body.
    base: u64,
    /// How much of `window` is read.
    at: usize,
    ended: bool,
    mode: Mode,
    /// Tracks the places of values, and where a comment may begin.
    html: Forks,
    /// Whether the current byte is within `<!--esi`.
    in_comment: bool,
    /// How many `<esi:vars>` are open.
    vars: usize,
    open: Vec<OpenElement>,
    found: VecDeque<Token>,
}

/// How the current bytes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Text,
    /// As text in which nothing counts: a comment, or `CDATA`.
    Verbatim,
    /// Left out, up to the end of this element. That many more elements of its name are open.
    Removed(Element, usize),
}

/// The result of a reading step.
enum Read {
    /// This many bytes were read; go on.
    On(usize),
    /// More bytes are needed.
    Wait,
}

impl Parser {
    /// Creates a parser that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece of the body. Call it when [`next`](Self::next) has returned all it has.
    pub fn push(&mut self, piece: Bytes) {
        self.base += self.at as u64;
        let rest = self.window.slice(self.at.min(self.window.len())..);
        self.at = 0;
        self.window = if rest.is_empty() {
            piece
        } else {
            let mut joined = BytesMut::with_capacity(rest.len() + piece.len());
            joined.extend_from_slice(&rest);
            joined.extend_from_slice(&piece);
            joined.freeze()
        };
    }

    /// Declares the end of the body.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// Returns the next token. `None` means that more bytes are needed or, after [`finish`](Self::finish), that there
    /// are no more tokens.
    #[expect(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&mut self) -> Option<Token> {
        loop {
            if let Some(token) = self.found.pop_front() {
                return Some(token);
            }
            let read = match self.mode {
                Mode::Text => self.text(),
                Mode::Verbatim => self.verbatim(),
                Mode::Removed(element, within) => self.removed(element, within),
            };
            match read {
                Read::On(length) => self.at += length,
                Read::Wait if self.found.is_empty() => {
                    if !self.ended {
                        return None;
                    }
                    self.found.extend(self.open.drain(..).map(|_| Token::End));
                    if self.found.is_empty() {
                        return None;
                    }
                }
                Read::Wait => {}
            }
        }
    }

    /// How far the body is read, once [`next`](Self::next) has returned all it has. Later text begins there or after
    /// it.
    pub fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The bytes of a text token. Valid until the next [`push`](Self::push).
    pub fn bytes(&self, span: Span) -> Bytes {
        let at = |offset: u64| {
            let within = offset.saturating_sub(self.base);
            usize::try_from(within).map_or(self.window.len(), |at| at.min(self.window.len()))
        };
        let (start, end) = (at(span.start), at(span.end));
        self.window.slice(start.min(end)..end)
    }

    fn rest(&self) -> &[u8] {
        self.window.get(self.at..).unwrap_or_default()
    }

    /// Passes on the next `length` bytes as text.
    fn pass(&mut self, length: usize) {
        if length > 0 {
            let start = self.base + self.at as u64;
            let end = start + length as u64;
            self.found.push_back(Token::Text(Span { start, end }));
        }
    }

    /// Passes on the next `length` bytes as text in which markup counts.
    fn markup(&mut self, length: usize) {
        let rest = self.window.get(self.at..).unwrap_or_default();
        self.html.text(rest.get(..length).unwrap_or(rest));
        self.pass(length);
    }
}
