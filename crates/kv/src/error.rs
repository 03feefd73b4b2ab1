//! Errors of a server.

use std::fmt;

/// Why a question was not answered. The caller counts it and continues as if the server had nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct Error {
    /// What went wrong.
    pub kind: Kind,
    /// The server's or the system's own words, for the operator.
    pub detail: String,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No connection, or no server that could answer: refused, loading, without a primary.
    Unreachable,
    /// The connection ended before the answer had come, or in the middle of it.
    Closed,
    /// No answer in time.
    Timeout,
    /// A wrong password, or no permission. The operator has to mend this.
    Refused,
    /// Our key holds something else.
    WrongType,
    /// The server takes no writes: it has no room, or is read-only.
    Full,
    /// The value is larger than the server takes.
    TooLarge,
    /// The server does not do what it was asked to.
    Rejected,
    /// The answer is invalid.
    Protocol,
}

impl Kind {
    /// All kinds, in the order in which they are counted.
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

    /// Whether the next question would most likely fail too. After a few such errors no question is sent for a while.
    /// Other errors concern only one key or one value.
    pub const fn opens_breaker(self) -> bool {
        matches!(
            self,
            Self::Unreachable | Self::Closed | Self::Timeout | Self::Refused | Self::Protocol
        )
    }

    /// Returns the name for metrics.
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
    /// Makes an error. `detail` are the words of the server or system that reported it.
    pub fn new(kind: Kind, detail: impl fmt::Display) -> Self {
        Self {
            kind,
            detail: detail.to_string(),
        }
    }
}

/// An address that cannot be used. The operator has to mend this. It never contains a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the address of such a server: {0}")]
pub struct BadUrl(pub String);
