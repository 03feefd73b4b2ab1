//! How an attempt fails.

use crate::{Error, upload::Outgoing};
use http::Request;
use std::sync::Arc;

/// How an attempt failed. This decides whether another is safe.
pub(crate) enum Failure {
    /// Nothing of the request was sent, or the server had not begun with it: it may always go elsewhere.
    Unsent {
        request: Box<Request<Outgoing>>,
        error: Error,
        /// Whether the connection was a reused one that had just been closed. That is nobody's fault.
        was_closing: bool,
    },
    /// The server refused the request on this HTTP/2 connection (`StreamSlot::connection`), without having begun with
    /// it. Another may take it.
    Refused {
        request: Box<Request<Outgoing>>,
        error: Error,
        by: u64,
    },
    /// Some of the request may have been sent, or its content broke off before.
    Sent {
        error: Error,
        /// Whether a reused connection closed without a byte of answer, or with one that says that it came too late.
        /// Most likely it was closing already.
        was_closing: bool,
        /// The request once more, if it is repeatable.
        again: Option<Box<Request<Outgoing>>>,
    },
}

impl Failure {
    /// Whether nothing of the request was sent, or the server had not begun with it.
    pub(crate) fn is_unsent(&self) -> bool {
        match self {
            Self::Unsent { .. } | Self::Refused { .. } => true,
            Self::Sent { .. } => false,
        }
    }

    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Unsent { error, .. } | Self::Refused { error, .. } | Self::Sent { error, .. } => {
                error
            }
        }
    }

    /// Puts the request in once more, unless it came back by itself.
    pub(super) fn or_again(mut self, spare: Option<Box<Request<Outgoing>>>) -> Self {
        if let Self::Sent { again, .. } = &mut self
            && again.is_none()
        {
            *again = spare;
        }
        self
    }

    pub(super) fn at(self, label: &Arc<str>) -> Self {
        self.map(|error| error.at(label))
    }

    /// Replaces the error.
    pub(super) fn map(self, by: impl FnOnce(Error) -> Error) -> Self {
        match self {
            Self::Unsent {
                request,
                error,
                was_closing,
            } => Self::Unsent {
                request,
                error: by(error),
                was_closing,
            },
            Self::Refused {
                request,
                error,
                by: connection,
            } => Self::Refused {
                request,
                error: by(error),
                by: connection,
            },
            Self::Sent {
                error,
                was_closing,
                again,
            } => Self::Sent {
                error: by(error),
                was_closing,
                again,
            },
        }
    }
}
