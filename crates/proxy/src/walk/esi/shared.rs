//! The tokens of a page that is being read, as one of those who get it takes them.

use super::{
    reading::{Next, Reading},
    source::{Streamed, cut},
};
use crate::{
    body::{Content, Error},
    outcome::{Counters, bump},
};
use bytes::Bytes;
use esi::{Parser, Span, Token};
use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Bytes that are read at once: a page may lie in one piece, and others wait for what they need of it.
const PART: usize = 64 << 10;

/// A page that others may be getting too.
#[derive(Debug)]
pub struct SharedTokens {
    reading: Arc<Reading>,
    counters: Arc<Counters>,
    at: usize,
    /// How far text has been given.
    given: u64,
    content: Box<Content>,
    /// What has come of it and nobody has looked at.
    rest: Bytes,
    ended: bool,
    /// What has come of the content and may still be text to be given, from `base` on.
    pieces: VecDeque<Bytes>,
    base: u64,
    came: u64,
    /// When nobody reads for others any more.
    alone: Option<Streamed>,
}

impl SharedTokens {
    /// The page from its beginning, for one of those who share `reading`. `content` is this client's own way through
    /// it.
    pub fn new(reading: Arc<Reading>, content: Content, counters: Arc<Counters>) -> Self {
        Self {
            reading,
            counters,
            at: 0,
            given: 0,
            content: Box::new(content),
            rest: Bytes::new(),
            ended: false,
            pieces: VecDeque::new(),
            base: 0,
            came: 0,
            alone: None,
        }
    }

    /// Where the content comes from.
    pub fn content(&self) -> &Content {
        self.alone.as_ref().map_or(&self.content, Streamed::content)
    }

    /// As [`content`](Self::content).
    pub fn content_mut(&mut self) -> &mut Content {
        match &mut self.alone {
            Some(alone) => alone.content_mut(),
            None => &mut self.content,
        }
    }

    /// As [`Content::holds_turn`].
    pub fn holds_turn(&self, context: &Context<'_>) -> bool {
        match &self.alone {
            Some(alone) => alone.holds_turn(context),
            None => !self.ended && self.content.holds_turn(context),
        }
    }

    /// The next token; `None` at the end of the page.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Token, Error>>> {
        if let Some(alone) = &mut self.alone {
            return alone.poll_next(context);
        }
        loop {
            match self.reading.next(self.at, self.given) {
                Next::Token(token) => {
                    self.at += 1;
                    return Poll::Ready(Some(Ok(token)));
                }
                Next::Text(span) => {
                    self.forget(span.start);
                    if let Some(part) = self.here(span) {
                        self.given = part.end;
                        return Poll::Ready(Some(Ok(Token::Text(part))));
                    }
                }
                Next::Passed => {
                    self.at += 1;
                    continue;
                }
                Next::End => return Poll::Ready(None),
                Next::More(from) => self.forget(from),
                Next::Stopped(parser, brought) => {
                    let alone = self.goes_on(*parser, brought);
                    return self.alone.insert(alone).poll_next(context);
                }
            }
            if let Err(error) = ready!(self.poll_more(context)) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    /// The bytes of the text that the last token was.
    pub fn bytes(&self, span: Span) -> Bytes {
        match (&self.alone, self.pieces.front()) {
            (Some(alone), _) => alone.bytes(span),
            (None, Some(piece)) => cut(piece, self.base, span),
            (None, None) => Bytes::new(),
        }
    }

    /// More of the content, which the reading gets too.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.ended {
            return Poll::Ready(Err("content is missing".into()));
        }
        if self.rest.is_empty() {
            match ready!(self.content.poll(context)) {
                Some(Ok(piece)) => self.rest = piece,
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => {
                    self.ended = true;
                    self.reading.finish();
                    return Poll::Ready(Ok(()));
                }
            }
        }
        let part = self.rest.split_to(self.rest.len().min(PART));
        self.reading.bring(self.came, &part);
        self.take(part);
        Poll::Ready(Ok(()))
    }

    fn take(&mut self, piece: Bytes) {
        self.came += piece.len() as u64;
        self.pieces.push_back(piece);
    }

    /// As much of `span` as the first piece has.
    fn here(&self, span: Span) -> Option<Span> {
        let end = self.base + self.pieces.front()?.len() as u64;
        let end = span.end.min(end);
        (span.start < end).then_some(Span { end, ..span })
    }

    /// Pieces that lie before `offset` are not needed any more.
    fn forget(&mut self, offset: u64) {
        while let Some(piece) = self.pieces.front()
            && self.base + piece.len() as u64 <= offset
        {
            self.base += piece.len() as u64;
            self.pieces.pop_front();
        }
    }

    /// This one's own reading from here on, by a parser that was given so many bytes.
    fn goes_on(&mut self, parser: Parser, brought: u64) -> Streamed {
        bump(&self.counters.pages_read);
        let (content, rest) = (
            std::mem::take(&mut *self.content),
            std::mem::take(&mut self.rest),
        );
        self.take(rest);
        let mut streamed = Streamed::after(parser, brought.saturating_sub(self.came), content);
        for piece in self.pieces.drain(..) {
            let end = self.base + piece.len() as u64;
            let known = brought.saturating_sub(self.base);
            let known = usize::try_from(known).map_or(piece.len(), |known| known.min(piece.len()));
            streamed.has_come(piece.slice(known..));
            self.base = end;
        }
        if self.ended {
            streamed.has_ended();
        }
        streamed
    }
}
