//! The language of Edge Side Includes (ESI 1.0, W3C Note of 4 August 2001): reads a body, in pieces as it arrives, and says
//! what is to be sent in its place. Never fetches: whoever runs it does.
//!
//! - [`Parser`] turns bytes into [`Token`]s. Text is named by its place in the body and never copied.
//! - [`Page`] is all tokens of a body, to be kept beside it.
//! - [`Run`] turns tokens into [`Step`]s for one request: text, values, includes.
//!
//! | element | what becomes of it |
//! |---|---|
//! | `<esi:include src alt onerror maxwait>` | [`Include`] |
//! | `<esi:remove>` | nothing, with all that is in it |
//! | `<esi:comment>` | nothing |
//! | `<!--esi … -->` | its content |
//! | `<esi:vars>` | its content, `$(…)` in it replaced; `<esi:vars name="$(…)"/>` the value |
//! | `<esi:choose>`, `when`, `otherwise` | the first branch that holds |
//! | `<esi:try>`, `attempt`, `except` | left to whoever fetches: [`Step::Try`] |
//! | any other `<esi:…>` | nothing; what is between it and its end stays |
//!
//! Tags count wherever they stand, also in attributes, scripts and styles; but not in comments and `CDATA` sections, which
//! stay as they are. A tag that never ends, or is longer than [`MOST_TAG`], is text. What was opened and is not closed is
//! closed by the end of the body. So any bytes are a page, and bytes without a tag are sent as they came.

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

/// Bytes of a body, by their offsets: from `start` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset of the byte after the last one.
    pub end: u64,
}

/// What a body consists of, in its order. Openings and [`Token::End`] always match.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// These bytes, as they are. Never empty.
    Text(Span),
    /// The value of a variable, escaped for the place where it stands.
    Value(Box<Variable>, EscapeContext),
    /// An include.
    Include(Box<Include>),
    /// Opens alternatives; only what is in a branch is sent.
    Choose,
    /// Opens a branch: sent if this holds and no branch before it was sent.
    When(Box<Expression>),
    /// Opens a branch: sent if no branch before it was sent.
    Otherwise,
    /// Opens an attempt and what is sent in its place where it fails.
    Try,
    /// Opens the attempt.
    Attempt,
    /// Opens what is sent where the attempt failed.
    Except,
    /// Closes what was opened last.
    End,
}
