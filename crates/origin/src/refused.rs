//! Log messages about requests that fail before a server is asked.

use crate::{Error, Kind, seldom::Seldom};

/// Limits the messages of one origin. Each kind has a limit of its own, so that one that clients cause at any time hides
/// no other.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    unreadable: Seldom,
    outside: Seldom,
    other: Seldom,
}

impl Refused {
    /// Logs that `origin` was not asked because of `error`.
    pub(crate) fn tell(&self, origin: &str, error: &Error) {
        let (limit, is_of_one_file) = match error.kind() {
            Kind::Unreadable => (&self.unreadable, true),
            Kind::Outside => (&self.outside, true),
            _ => (&self.other, false),
        };
        if !limit.now() {
            return;
        }
        if is_of_one_file {
            tracing::warn!(origin, %error, "a file cannot be served");
        } else {
            tracing::error!(origin, %error, "a request is refused");
        }
    }
}
