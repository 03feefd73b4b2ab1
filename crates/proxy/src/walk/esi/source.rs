//! Where a page's tokens come from: the tokens kept beside it, or its body as it arrives.

use super::{kept::ReadPage, shared::SharedTokens};
use crate::body::{Content, Error};
use bytes::Bytes;
use esi::{Page, Parser, Span, Token};
use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// A page to be composed.
#[derive(Debug)]
pub enum PageSource {
    /// Read before, with all of it at hand.
    AtHand {
        page: Arc<Page>,
        at: usize,
        body: Bytes,
    },
    /// Read before; its content comes now.
    Known(Known),
    /// Read while it comes, together with all requests that get it.
    SharedTokens(Box<SharedTokens>),
    /// Read while it comes, for this client alone.
    Streamed(Streamed),
}

/// Tokens over content that comes in pieces.
#[derive(Debug)]
pub struct Known {
    page: Arc<Page>,
    at: usize,
    content: Box<Content>,
    piece: Bytes,
    /// The offset of `piece` in the content.
    base: u64,
    /// The end of the text that has been given.
    given: u64,
}

/// Content that is read while it comes, for one client.
#[derive(Debug)]
pub struct Streamed {
    content: Box<Content>,
    parser: Box<Parser>,
    /// This many bytes of the content have already been read.
    skip: u64,
    /// Pieces that have come and are still to be read.
    pieces: VecDeque<Bytes>,
    ended: bool,
    finished: bool,
}

impl PageSource {
    /// A page whose tokens are kept, and all of whose `body` is at hand.
    pub fn at_hand(read: ReadPage, body: Bytes) -> Self {
        let page = read.page;
        Self::AtHand { page, at: 0, body }
    }

    /// A page whose tokens are kept, and whose content comes in pieces.
    pub fn known(read: ReadPage, content: Content) -> Self {
        Self::Known(Known {
            page: read.page,
            at: 0,
            content: Box::new(content),
            piece: Bytes::new(),
            base: 0,
            given: 0,
        })
    }

    /// A page that has not been read, for one client alone.
    pub fn streamed(content: Content) -> Self {
        Self::Streamed(Streamed::after(Parser::new(), 0, content))
    }

    /// Returns the page's content; `None` if all of it is at hand.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::AtHand { .. } => None,
            Self::Known(known) => Some(&known.content),
            Self::SharedTokens(shared) => Some(shared.content()),
            Self::Streamed(streamed) => Some(streamed.content()),
        }
    }

    /// See [`Content::read_little_if`].
    pub fn read_little_if(&mut self, short: bool) {
        match self {
            Self::AtHand { .. } => {}
            Self::Known(known) => known.content.read_little_if(short),
            Self::SharedTokens(shared) => shared.content_mut().read_little_if(short),
            Self::Streamed(streamed) => streamed.content_mut().read_little_if(short),
        }
    }

    /// Whether it follows a fill.
    pub fn follows(&self) -> bool {
        matches!(self.content(), Some(Content::Following(_)))
    }

    /// Whether what is read of it is in no store.
    pub fn passes(&self) -> bool {
        self.content().is_some_and(Content::passes)
    }

    /// Whether the text that it gives counts where it comes from. What is read for one client alone may be a copy.
    pub fn gives_counted(&self) -> bool {
        match self {
            Self::AtHand { .. } | Self::Known(_) => !self.passes(),
            Self::SharedTokens(shared) => !shared.is_alone() && !self.passes(),
            Self::Streamed(_) => false,
        }
    }

    /// See [`Content::holds_turn`].
    pub fn holds_turn(&self, context: &Context<'_>) -> bool {
        match self {
            Self::AtHand { .. } => false,
            Self::Known(known) => known.content.holds_turn(context),
            Self::SharedTokens(shared) => shared.holds_turn(context),
            Self::Streamed(streamed) => streamed.holds_turn(context),
        }
    }

    /// Passes the next token to `step`; `None` at the end of the page.
    pub fn poll_step<T>(
        &mut self,
        context: &mut Context<'_>,
        step: impl FnOnce(&Token) -> T,
    ) -> Poll<Option<Result<T, Error>>> {
        match self {
            Self::AtHand { page, at, .. } => {
                let token = page.tokens().get(*at);
                *at += 1;
                Poll::Ready(token.map(|token| Ok(step(token))))
            }
            Self::Known(known) => known.poll_step(context, step),
            Self::SharedTokens(shared) => {
                let next = ready!(shared.poll_next(context));
                Poll::Ready(next.map(|token| token.map(|token| step(&token))))
            }
            Self::Streamed(streamed) => {
                let next = ready!(streamed.poll_next(context));
                Poll::Ready(next.map(|token| token.map(|token| step(&token))))
            }
        }
    }

    /// Returns the bytes of the last token, which was text.
    pub fn bytes(&self, span: Span) -> Bytes {
        match self {
            Self::AtHand { body, .. } => cut(body, 0, span),
            Self::Known(known) => cut(&known.piece, known.base, span),
            Self::SharedTokens(shared) => shared.bytes(span),
            Self::Streamed(streamed) => streamed.bytes(span),
        }
    }
}

impl Known {
    fn poll_step<T>(
        &mut self,
        context: &mut Context<'_>,
        step: impl FnOnce(&Token) -> T,
    ) -> Poll<Option<Result<T, Error>>> {
        loop {
            let Some(token) = self.page.tokens().get(self.at) else {
                return Poll::Ready(None);
            };
            let Token::Text(span) = token else {
                self.at += 1;
                return Poll::Ready(Some(Ok(step(token))));
            };
            let here = self.base + self.piece.len() as u64;
            let start = span.start.max(self.given);
            if start >= span.end {
                self.at += 1;
            } else if start < here {
                let end = span.end.min(here);
                self.given = end;
                return Poll::Ready(Some(Ok(step(&Token::Text(Span { start, end })))));
            } else {
                match ready!(self.content.poll(context)) {
                    Some(Ok(piece)) => (self.base, self.piece) = (here, piece),
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => return Poll::Ready(Some(Err("content is missing".into()))),
                }
            }
        }
    }
}

impl Streamed {
    /// Content that `parser` reads on. The parser has already been given the next `skip` bytes.
    pub fn after(parser: Parser, skip: u64, content: Content) -> Self {
        Self {
            content: Box::new(content),
            parser: Box::new(parser),
            skip,
            pieces: VecDeque::new(),
            ended: false,
            finished: false,
        }
    }

    /// Adds a piece of the content that has already come.
    pub fn has_come(&mut self, piece: Bytes) {
        self.pieces.push_back(piece);
    }

    /// Says that all of the content has come.
    pub const fn has_ended(&mut self) {
        self.ended = true;
    }

    /// Returns the content.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Returns the content, mutably.
    pub fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// See [`Content::holds_turn`].
    pub fn holds_turn(&self, context: &Context<'_>) -> bool {
        !self.ended && self.content.holds_turn(context)
    }

    /// Returns the bytes of the last token, which was text.
    pub fn bytes(&self, span: Span) -> Bytes {
        self.parser.bytes(span)
    }

    /// Polls for the next token; `None` at the end of the page.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Token, Error>>> {
        loop {
            if let Some(token) = self.parser.next() {
                return Poll::Ready(Some(Ok(token)));
            }
            if let Some(piece) = self.pieces.pop_front() {
                self.parser.push(piece);
                continue;
            }
            if self.finished {
                return Poll::Ready(None);
            }
            if self.ended {
                self.finished = true;
                self.parser.finish();
                continue;
            }
            match ready!(self.content.poll(context)) {
                Some(Ok(mut piece)) => {
                    let length = piece.len();
                    let known = usize::try_from(self.skip).map_or(length, |skip| skip.min(length));
                    self.skip -= known as u64;
                    self.pieces.push_back(piece.split_off(known));
                }
                Some(Err(error)) => {
                    (self.ended, self.finished) = (true, true);
                    return Poll::Ready(Some(Err(error)));
                }
                None => self.ended = true,
            }
        }
    }
}

/// Returns the bytes of `span` in `piece`, which begins at offset `base`.
pub fn cut(piece: &Bytes, base: u64, span: Span) -> Bytes {
    let at = |offset: u64| {
        let within = offset.saturating_sub(base);
        usize::try_from(within).map_or(piece.len(), |at| at.min(piece.len()))
    };
    let (start, end) = (at(span.start), at(span.end));
    piece.slice(start.min(end)..end)
}
