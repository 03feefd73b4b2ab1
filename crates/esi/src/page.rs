//! All tokens of a body, to be kept beside it.

use crate::{Parser, Span, Token};
use bytes::Bytes;

/// A body's tokens: they name places in it, and are of no use without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Page(Box<[Token]>);

impl Page {
    /// Reads a whole body. `None` as soon as the tokens take so many bytes of memory that it no longer `fits`.
    pub fn read(body: &Bytes, mut fits: impl FnMut(u64) -> bool) -> Option<Self> {
        let mut parser = Parser::new();
        parser.push(body.clone());
        parser.finish();
        let mut tokens = Tokens::default();
        while let Some(token) = parser.next() {
            tokens.push(token);
            if !fits(tokens.weight()) {
                return None;
            }
        }
        Some(tokens.into())
    }

    /// The tokens, in order.
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// Whether the body, of `length` bytes, has none of the language in it and is sent as it is.
    pub fn is_plain(&self, length: u64) -> bool {
        match &*self.0 {
            [] => length == 0,
            [Token::Text(Span { start: 0, end })] => *end == length,
            _ => false,
        }
    }

    /// Bytes of memory it takes.
    pub fn weight(&self) -> u64 {
        let beyond: usize = self.0.iter().map(beyond).sum();
        (size_of::<Self>() + size_of_val(&*self.0) + beyond) as u64
    }
}

/// A body's tokens as they are read.
#[derive(Debug, Default)]
pub struct Tokens {
    tokens: Vec<Token>,
    beyond: usize,
}

impl Tokens {
    /// The next token. Text that goes on is one.
    pub fn push(&mut self, token: Token) {
        match (&token, self.tokens.last_mut()) {
            (Token::Text(next), Some(Token::Text(last))) if last.end == next.start => {
                last.end = next.end;
            }
            _ => {
                self.beyond += beyond(&token);
                self.tokens.push(token);
            }
        }
    }

    /// Those read so far, in order. The last one may grow if it is text.
    pub fn as_slice(&self) -> &[Token] {
        &self.tokens
    }

    /// Gives back what memory was taken for more of them.
    pub fn shrink(&mut self) {
        self.tokens.shrink_to_fit();
    }

    /// Bytes of memory they take.
    pub fn weight(&self) -> u64 {
        (self.tokens.capacity() * size_of::<Token>() + self.beyond) as u64
    }
}

impl From<Tokens> for Page {
    fn from(tokens: Tokens) -> Self {
        Self(tokens.tokens.into())
    }
}

/// Bytes that a token takes beyond itself.
fn beyond(token: &Token) -> usize {
    match token {
        Token::Value(variable, _) => size_of_val(&**variable) + variable.weight(),
        Token::Include(include) => include.weight(),
        Token::When(expression) => expression.weight(),
        _ => 0,
    }
}
