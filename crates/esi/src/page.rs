//! All tokens of a body, to be kept beside it.

use crate::{Parser, Span, Token};
use bytes::Bytes;

/// A body's tokens: they name places in it, and are of no use without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Page(Box<[Token]>);

impl Page {
    /// Reads a whole body.
    pub fn read(body: &Bytes) -> Self {
        let mut parser = Parser::new();
        parser.push(body.clone());
        parser.finish();
        let mut tokens: Vec<Token> = Vec::new();
        while let Some(token) = parser.next() {
            match (&token, tokens.last_mut()) {
                (Token::Text(next), Some(Token::Text(last))) if last.end == next.start => {
                    last.end = next.end;
                }
                _ => tokens.push(token),
            }
        }
        Self(tokens.into())
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
        let beyond = self.0.iter().map(|token| match token {
            Token::Value(variable, _) => size_of_val(&**variable) + variable.weight(),
            Token::Include(include) => include.weight(),
            Token::When(expression) => expression.weight(),
            _ => 0,
        });
        (size_of::<Self>() + size_of_val(&*self.0) + beyond.sum::<usize>()) as u64
    }
}
