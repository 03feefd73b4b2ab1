//! What became of a page, with the reason.

use super::Blocked;
use http::StatusCode;
use rules::storable::NotStorable;
use std::fmt;

/// What became of a page.
#[derive(Debug)]
pub enum Outcome {
    /// Its file was not there before.
    New,
    /// Its file was replaced.
    Changed,
    /// It is as it was.
    Same,
    /// An unfinished run had done it.
    Resumed,
    /// It is a redirect, and was none or led elsewhere.
    Redirect,
    /// It is not for everybody, or no page.
    Refused(Refused),
    /// The application does not have it.
    Missing(StatusCode),
    /// It could not be fetched; worth trying again.
    Failed(String),
    /// Its name is taken by something that is not ours.
    Blocked(Blocked),
}

impl Outcome {
    /// What there is to tell of it, after its name; `None` where all is well.
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
    /// Neither a page nor a redirect.
    Status(StatusCode),
    /// In a content coding that was not asked for.
    Coding(String),
    /// It never ends.
    Stream,
    /// A redirect to itself, for whoever asks as we do.
    Loop,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storing(NotStorable::SetCookie) => f.write_str("it sets a cookie, and may be one visitor's"),
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
