//! Where a page's tokens come from: those kept beside it, or its body as it arrives.

use crate::body::{Content, Error};
use bytes::Bytes;
use esi::{Page, Parser, Span, Token};
use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};
use store::Derived;

/// What a stored page was read to be.
#[derive(Clone, Debug)]
pub struct Kept(pub(super) Arc<Page>);

impl Derived for Kept {
    fn weight(&self) -> u64 {
        self.0.weight()
    }
}

impl Kept {
    pub fn read(body: &Bytes) -> Self {
        Self(Arc::new(Page::read(body)))
    }

    /// Whether `body`, which it was read from, is sent as it is.
    pub fn is_plain(&self, body: &Bytes) -> bool {
        self.0.is_plain(body.len() as u64)
    }
}

/// A page to be composed.
#[derive(Debug)]
pub enum Source {
    /// Read when it was stored.
    Kept {
        page: Arc<Page>,
        at: usize,
        body: Bytes,
    },
    /// Read while it comes.
    Streamed {
        content: Box<Content>,
        parser: Box<Parser>,
        ended: bool,
    },
}

impl Source {
    pub fn kept(kept: Kept, body: Bytes) -> Self {
        let page = kept.0;
        Self::Kept { page, at: 0, body }
    }

    pub fn streamed(content: Content) -> Self {
        Self::Streamed {
            content: Box::new(content),
            parser: Box::default(),
            ended: false,
        }
    }

    /// Whether it follows a fill.
    pub fn follows(&self) -> bool {
        matches!(self, Self::Streamed { content, .. } if matches!(**content, Content::Following(_)))
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
            Self::Streamed {
                content,
                parser,
                ended,
            } => loop {
                if let Some(token) = parser.next() {
                    return Poll::Ready(Some(Ok(step(&token))));
                }
                if *ended {
                    return Poll::Ready(None);
                }
                match ready!(content.poll(context)) {
                    Some(Ok(piece)) => parser.push(piece),
                    Some(Err(error)) => {
                        *ended = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => {
                        *ended = true;
                        parser.finish();
                    }
                }
            },
        }
    }

    /// The bytes of the text that the last token was.
    pub fn bytes(&self, span: Span) -> Bytes {
        match self {
            Self::Kept { body, .. } => {
                let at = |offset: u64| {
                    usize::try_from(offset).map_or(body.len(), |at| at.min(body.len()))
                };
                let (start, end) = (at(span.start), at(span.end));
                body.slice(start.min(end)..end)
            }
            Self::Streamed { parser, .. } => parser.bytes(span),
        }
    }
}
