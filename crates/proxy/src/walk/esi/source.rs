//! Where a page's tokens come from: those kept beside it, or its body as it arrives.

use super::kept::{Keeper, Kept};
use crate::body::{Content, Error};
use bytes::Bytes;
use esi::{Page, Parser, Span, Token};
use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

/// A page to be composed.
#[derive(Debug)]
pub enum Source {
    /// Read before, and all of it at hand.
    Kept {
        page: Arc<Page>,
        at: usize,
        body: Bytes,
    },
    /// Read before; its content comes now.
    Known(Known),
    /// Read while it comes.
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
    /// How far text has been given.
    given: u64,
}

/// Content that is read while it comes.
#[derive(Debug)]
pub struct Streamed {
    content: Box<Content>,
    parser: Box<Parser>,
    /// Keeps what is read, of a stored page.
    keeper: Option<Box<Keeper>>,
    ended: bool,
}

impl Source {
    pub fn kept(kept: Kept, body: Bytes) -> Self {
        let page = kept.page;
        Self::Kept { page, at: 0, body }
    }

    pub fn known(kept: Kept, content: Content) -> Self {
        Self::Known(Known {
            page: kept.page,
            at: 0,
            content: Box::new(content),
            piece: Bytes::new(),
            base: 0,
            given: 0,
        })
    }

    pub fn streamed(content: Content, keeper: Option<Keeper>) -> Self {
        Self::Streamed(Streamed {
            content: Box::new(content),
            parser: Box::default(),
            keeper: keeper.map(Box::new),
            ended: false,
        })
    }

    /// Whether it follows a fill.
    pub fn follows(&self) -> bool {
        let content = match self {
            Self::Kept { .. } => return false,
            Self::Known(known) => &known.content,
            Self::Streamed(streamed) => &streamed.content,
        };
        matches!(**content, Content::Following(_))
    }

    /// Gives the next token to `step`; `None` at the end of the page.
    pub fn poll_step<T>(
        &mut self,
        context: &mut Context<'_>,
        step: impl FnOnce(&Token) -> T,
    ) -> Poll<Option<Result<T, Error>>> {
        match self {
            Self::Kept { page, at, .. } => {
                let token = page.tokens().get(*at);
                *at += 1;
                Poll::Ready(token.map(|token| Ok(step(token))))
            }
            Self::Known(known) => known.poll_step(context, step),
            Self::Streamed(streamed) => streamed.poll_step(context, step),
        }
    }

    /// The bytes of the text that the last token was.
    pub fn bytes(&self, span: Span) -> Bytes {
        match self {
            Self::Kept { body, .. } => cut(body, 0, span),
            Self::Known(known) => cut(&known.piece, known.base, span),
            Self::Streamed(streamed) => streamed.parser.bytes(span),
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
    fn poll_step<T>(
        &mut self,
        context: &mut Context<'_>,
        step: impl FnOnce(&Token) -> T,
    ) -> Poll<Option<Result<T, Error>>> {
        loop {
            if let Some(token) = self.parser.next() {
                self.keep(|keeper| keeper.token(&token));
                return Poll::Ready(Some(Ok(step(&token))));
            }
            if self.ended {
                if let Some(keeper) = self.keeper.take() {
                    keeper.keep();
                }
                return Poll::Ready(None);
            }
            match ready!(self.content.poll(context)) {
                Some(Ok(piece)) => {
                    self.keep(|keeper| keeper.piece(&piece));
                    self.parser.push(piece);
                }
                Some(Err(error)) => {
                    self.ended = true;
                    self.keeper = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.ended = true;
                    self.parser.finish();
                }
            }
        }
    }

    /// What does not fit is not kept.
    fn keep(&mut self, what: impl FnOnce(&mut Keeper) -> bool) {
        if let Some(keeper) = &mut self.keeper
            && !what(keeper)
        {
            self.keeper = None;
        }
    }
}

/// The bytes of `span` in `piece`, which begins at `base`.
fn cut(piece: &Bytes, base: u64, span: Span) -> Bytes {
    let at = |offset: u64| {
        let within = offset.saturating_sub(base);
        usize::try_from(within).map_or(piece.len(), |at| at.min(piece.len()))
    };
    let (start, end) = (at(span.start), at(span.end));
    piece.slice(start.min(end)..end)
}
