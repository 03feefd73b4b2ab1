//! The tokens of a whole body, kept beside it.

use crate::{Parser, Span, Token};
use bytes::Bytes;

/// The tokens of a body. They name places in the body, and are of no use without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Page(Box<[Token]>);

impl Page {
    /// Reads a whole body. Returns `None` as soon as `fits` refuses the bytes of memory that the tokens take.
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

    /// Whether the body, of `length` bytes, contains nothing of the language and is sent as it is.
    pub fn is_plain(&self, length: u64) -> bool {
        match &*self.0 {
            [] => length == 0,
            [Token::Text(Span { start: 0, end })] => *end == length,
            _ => false,
        }
    }

    /// The bytes of memory that the page takes.
    pub fn weight(&self) -> u64 {
        let beyond: usize = self.0.iter().map(beyond).sum();
        (size_of::<Self>() + size_of_val(&*self.0) + beyond) as u64
    }
}

/// The tokens of a body while it is read.
#[derive(Debug, Default)]
pub struct Tokens {
    tokens: Vec<Token>,
    beyond: usize,
}

impl Tokens {
    /// Adds the next token. Text that continues the last token extends it.
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

    /// The tokens so far, in order. If the last one is text, it may still grow.
    pub fn as_slice(&self) -> &[Token] {
        &self.tokens
    }

    /// Frees memory that was allocated for more tokens.
    pub fn shrink(&mut self) {
        self.tokens.shrink_to_fit();
    }

    /// The bytes of memory that the tokens take.
    pub fn weight(&self) -> u64 {
        (self.tokens.capacity() * size_of::<Token>() + self.beyond) as u64
    }
}

impl From<Tokens> for Page {
    fn from(tokens: Tokens) -> Self {
        Self(tokens.tokens.into())
    }
}

/// The bytes that a token takes beyond its own size.
fn beyond(token: &Token) -> usize {
    match token {
        Token::Value(variable, _) => size_of_val(&**variable) + variable.weight(),
        Token::Include(include) => include.weight(),
        Token::When(expression) => expression.weight(),
        _ => 0,
    }
}
