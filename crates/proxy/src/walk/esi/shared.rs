//! The tokens of a page that is being read, for one of the requests that get it.

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

/// The most bytes that are read at once. A page may be in one piece, while other requests wait for what they need of
/// it.
const PART: usize = 64 << 10;

/// A page that other requests may be getting too.
#[derive(Debug)]
pub struct SharedTokens {
    reading: Arc<Reading>,
    counters: Arc<Counters>,
    at: usize,
    /// The end of the text that has been given.
    given: u64,
    content: Box<Content>,
    /// Content that has come but was not looked at yet.
    rest: Bytes,
    ended: bool,
    /// Content that has come and may still be given as text. It begins at offset `base`.
    pieces: VecDeque<Bytes>,
    base: u64,
    came: u64,
    /// Reads on for this request alone, once reading for all has stopped.
    alone: Option<Streamed>,
}

impl SharedTokens {
    /// The page from its beginning, for one of the requests that share `reading`. `content` is the page's content as
    /// this client gets it.
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

    /// Returns the page's content.
    pub fn content(&self) -> &Content {
        self.alone.as_ref().map_or(&self.content, Streamed::content)
    }

    /// Returns the page's content, mutably.
    pub fn content_mut(&mut self) -> &mut Content {
        match &mut self.alone {
            Some(alone) => alone.content_mut(),
            None => &mut self.content,
        }
    }

    /// Whether it reads on for this request alone.
    pub const fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// See [`Content::holds_turn`].
    pub fn holds_turn(&self, context: &Context<'_>) -> bool {
        match &self.alone {
            Some(alone) => alone.holds_turn(context),
            None => !self.ended && self.content.holds_turn(context),
        }
    }

    /// Polls for the next token; `None` at the end of the page.
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

    /// Returns the bytes of the last token, which was text.
    pub fn bytes(&self, span: Span) -> Bytes {
        match (&self.alone, self.pieces.front()) {
            (Some(alone), _) => alone.bytes(span),
            (None, Some(piece)) => cut(piece, self.base, span),
            (None, None) => Bytes::new(),
        }
    }

    /// Polls for more of the content, and passes it to the shared reading.
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

    /// Returns as much of `span` as the first piece has.
    fn here(&self, span: Span) -> Option<Span> {
        let end = self.base + self.pieces.front()?.len() as u64;
        let end = span.end.min(end);
        (span.start < end).then_some(Span { end, ..span })
    }

    /// Drops the pieces before `offset`, which are not needed any more.
    fn forget(&mut self, offset: u64) {
        while let Some(piece) = self.pieces.front()
            && self.base + piece.len() as u64 <= offset
        {
            self.base += piece.len() as u64;
            self.pieces.pop_front();
        }
    }

    /// Reads on alone from here, with a parser that has been given `brought` bytes.
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
