//! The language of Edge Side Includes (ESI 1.0, W3C Note of 4 August 2001). Reads a body in pieces, as it arrives, and
//! says what to send in its place. It never fetches: the caller does.
//!
//! - [`Parser`] turns bytes into [`Token`]s. A token names text by its place in the body, and copies none.
//! - [`Page`] is all tokens of a body, kept beside it.
//! - [`Run`] turns tokens into [`Step`]s for one request: text, values, includes.
//!
//! | element | result |
//! |---|---|
//! | `<esi:include src alt onerror maxwait>` | [`Include`] |
//! | `<esi:remove>` | nothing, nor its content |
//! | `<esi:comment>` | nothing |
//! | `<!--esi … -->` | its content |
//! | `<esi:vars>` | its content, with `$(…)` replaced; `<esi:vars name="$(…)"/>` is the value |
//! | `<esi:choose>`, `when`, `otherwise` | the first branch that holds |
//! | `<esi:try>`, `attempt`, `except` | left to the caller, which fetches: [`Step::Try`] |
//! | any other `<esi:…>` | nothing; the content between it and its end stays |
//!
//! Tags count everywhere, also in attributes, scripts and styles, except in comments and `CDATA` sections, which stay
//! as they are; in attributes and scripts, `<!--` begins no comment. A tag that never ends, or is longer than
//! [`MOST_TAG`], is text. The end of the body closes what is still open. So any bytes are a page, and bytes without a
//! tag are sent as they came.

#![forbid(unsafe_code)]

mod escape;
mod expression;
mod include;
mod page;
mod parser;
mod run;
mod tag;
mod template;
mod variable;

pub use escape::{EscapeContext, Part};
pub use expression::Expression;
pub use include::{Address, Include};
pub use page::{Page, Tokens};
pub use parser::{MOST_OPEN, MOST_TAG, Parser};
pub use run::{Run, Step};
pub use template::Template;
pub use variable::{Request, Variable};

/// A range of bytes of a body, by offset: from `start` up to, but not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset of the byte after the last one.
    pub end: u64,
}

/// One part of a body; tokens come in its order. Openings and [`Token::End`] always match.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// These bytes, as they are. Never empty.
    Text(Span),
    /// The value of a variable, escaped for its place in the page.
    Value(Box<Variable>, EscapeContext),
    /// An include.
    Include(Box<Include>),
    /// Opens alternatives. Only the content of a branch is sent.
    Choose,
    /// Opens a branch, which is sent if this holds and no earlier branch was sent.
    When(Box<Expression>),
    /// Opens a branch, which is sent if no earlier branch was sent.
    Otherwise,
    /// Opens an attempt and the content that is sent instead if it fails.
    Try,
    /// Opens the attempt.
    Attempt,
    /// Opens the content that is sent if the attempt failed.
    Except,
    /// Closes what was opened last.
    End,
}
