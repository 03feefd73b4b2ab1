//! The outcome of a page, with the reason.

use super::Blocked;
use http::StatusCode;
use rules::storable::NotStorable;
use std::fmt;

/// The outcome of a page.
#[derive(Debug)]
pub enum Outcome {
    /// Its file is new.
    New,
    /// Its file was replaced.
    Changed,
    /// It is unchanged.
    Same,
    /// An unfinished run had finished it.
    Resumed,
    /// It is a redirect, and was none before or led elsewhere.
    Redirect,
    /// It is not for everybody, or not a page.
    Refused(Refused),
    /// The application does not have it.
    Missing(StatusCode),
    /// It could not be fetched; another attempt makes sense.
    Failed(String),
    /// Something that is not ours has its name.
    Blocked(Blocked),
}

impl Outcome {
    /// The problem to report after its name; `None` if there is none.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::New | Self::Changed | Self::Same | Self::Resumed | Self::Redirect => None,
            Self::Refused(why) => Some(format!("is not published: {why}")),
            Self::Missing(status) => Some(format!("is not there: status {status}")),
            Self::Failed(why) => Some(format!("failed: {why}")),
            Self::Blocked(why) => Some(format!("is not published: {why}")),
        }
    }
}

/// Why an answer is not published.
#[derive(Debug)]
pub enum Refused {
    /// No shared cache may store it.
    Storing(NotStorable),
    /// The answer is neither a page nor a redirect.
    Status(StatusCode),
    /// The answer has a content coding that was not requested.
    Coding(String),
    /// The answer never ends.
    Stream,
    /// It redirects to itself, for a client that asks as we do.
    Loop,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storing(NotStorable::SetCookie) => f.write_str("it sets a cookie, and may be one visitor's"),
            Self::Storing(NotStorable::Authorization) => f.write_str(
                "it was asked for with Authorization and does not say public, so it may be for one visitor",
            ),
            Self::Storing(why) => write!(f, "no shared cache may keep it ({why})"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Coding(coding) => write!(f, "it comes in the coding {coding}, which was not asked for"),
            Self::Stream => f.write_str("it is a stream of events"),
            Self::Loop => f.write_str(
                "it redirects to itself; where the scheme is the reason, ask with -H 'X-Forwarded-Proto: https'",
            ),
        }
    }
}
