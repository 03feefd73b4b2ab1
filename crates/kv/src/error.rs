//! What goes wrong with a server.

use std::fmt;

/// What became of a question that was not answered. Whoever asked counts it and goes on as if nothing were there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct Error {
    /// What it was.
    pub kind: Kind,
    /// The server's or the system's own words, for the operator.
    pub detail: String,
}

/// What it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No connection, or no server that could answer: refused, loading, without a primary.
    Unreachable,
    /// The connection ended before its answer had come, or in the middle of it.
    Closed,
    /// No answer in time.
    Timeout,
    /// Wrong password, or no permission; for the operator to mend.
    Refused,
    /// Something else lies under our key.
    WrongType,
    /// The server takes no writes: no room, or it may only be read.
    Full,
    /// The value is larger than the server takes.
    TooLarge,
    /// The server does not do what it was asked for.
    Rejected,
    /// An answer that is none.
    Protocol,
}

impl Kind {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 9] = [
        Self::Unreachable,
        Self::Closed,
        Self::Timeout,
        Self::Refused,
        Self::WrongType,
        Self::Full,
        Self::TooLarge,
        Self::Rejected,
        Self::Protocol,
    ];

    /// Whether the next question would most likely fare the same, so that after a few of these none is asked for a while. The
    /// others are about one key or one value.
    pub const fn opens_breaker(self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::Closed | Self::Timeout | Self::Refused | Self::Protocol
        )
    }

    /// A name for metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::WrongType => "wrong-type",
            Self::Full => "full",
            Self::TooLarge => "too-large",
            Self::Rejected => "rejected",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "cannot be reached",
            Self::Closed => "breaks off",
            Self::Timeout => "does not answer in time",
            Self::Refused => "refuses us",
            Self::WrongType => "holds something else under our key",
            Self::Full => "takes no writes",
            Self::TooLarge => "does not take values this large",
            Self::Rejected => "does not do what it is asked for",
            Self::Protocol => "gives answers that are none",
        })
    }
}

impl Error {
    /// An error with the words of who reported it.
    pub fn new(kind: Kind, detail: impl fmt::Display) -> Self {
        Self {
            kind,
            detail: detail.to_string(),
        }
    }
}

/// An address that cannot be used; for the operator to mend. It never holds a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the address of such a server: {0}")]
pub struct BadUrl(pub String);
