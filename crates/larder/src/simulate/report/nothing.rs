//! Logs without any request to simulate.

use super::Report;
use std::fmt;

/// Why there is no request to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// There are no lines.
    NoLines,
    /// No line was understood.
    NotUnderstood,
    /// The server refuses the requests.
    Refused,
    /// A cache gave the answers itself.
    Own,
}

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLines => "there are no lines",
            Self::NotUnderstood => "no line was understood",
            Self::Refused => "the server would refuse them",
            Self::Own => "a cache gave the answers itself",
        })
    }
}

impl Report {
    /// Returns why there is no request to simulate; `None` if there are some.
    pub fn nothing(&self) -> Option<Nothing> {
        let log = &self.log;
        (self.requests == 0).then_some(if log.lines == 0 && log.bad == 0 {
            Nothing::NoLines
        } else if log.lines == 0 {
            Nothing::NotUnderstood
        } else if !self.refused.is_empty() {
            Nothing::Refused
        } else {
            Nothing::Own
        })
    }
}
