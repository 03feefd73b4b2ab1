//! From bytes to tokens: [`Parser`] goes from mark to mark (`text`), or past what has none (`skipped`); what begins a mark is found
//! in `marks`, and what a tag opens and closes in `elements`.

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
use marks::Raw;
use std::collections::VecDeque;

/// Longest tag in bytes. What is longer is text.
pub const MOST_TAG: usize = 8 << 10;

/// Elements open within one another, at most. What is opened beyond is left out with all that is in it.
pub const MOST_OPEN: usize = 16;

/// Turns a body into tokens, piece by piece. Holds no more than the last piece and the beginning of a tag.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// What has come and is not read, or just was.
    window: Bytes,
    /// The offset of `window` in the body.
    base: u64,
    /// How far `window` is read.
    at: usize,
    ended: bool,
    mode: Mode,
    /// Within an element whose content is no markup.
    place: Option<Raw>,
    /// Where values stand.
    html: Forks,
    /// Within `<!--esi`.
    in_comment: bool,
    /// Within so many `<esi:vars>`.
    vars: usize,
    open: Vec<OpenElement>,
    found: VecDeque<Token>,
}

/// What the bytes being read are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Text,
    /// Text in which nothing counts, up to this.
    Verbatim(&'static [u8]),
    /// Left out, up to the end of this element, of which so many more are open.
    Removed(Element, usize),
}

/// How reading went.
enum Read {
    /// So many bytes, and on.
    On(usize),
    /// Not without more bytes.
    Wait,
}

impl Parser {
    /// Nothing read.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next piece of the body. To be called when [`next`](Self::next) has given all it has.
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

    /// The body has ended.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// The next token; `None`: more is needed, or after [`finish`](Self::finish) there is no more.
    #[expect(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&mut self) -> Option<Token> {
        loop {
            if let Some(token) = self.found.pop_front() {
                return Some(token);
            }
            let read = match self.mode {
                Mode::Text => self.text(),
                Mode::Verbatim(end) => self.verbatim(end),
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

    /// How far the body is read, when [`next`](Self::next) has given all it has: text yet to come begins there or later.
    pub fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The bytes of a text token. Good until the next [`push`](Self::push).
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

    /// These bytes from here on are text.
    fn pass(&mut self, length: usize) {
        if length > 0 {
            let start = self.base + self.at as u64;
            let end = start + length as u64;
            self.found.push_back(Token::Text(Span { start, end }));
        }
    }

    /// These bytes from here on are text in which markup counts.
    fn markup(&mut self, length: usize) {
        let rest = self.window.get(self.at..).unwrap_or_default();
        self.html.text(rest.get(..length).unwrap_or(rest));
        self.pass(length);
    }
}
