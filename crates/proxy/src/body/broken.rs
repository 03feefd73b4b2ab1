//! Why an answer breaks off, for the access log.

use super::Error;
use store::{disk, fill::Broken};

/// The reason in one token.
pub(super) fn token(error: &Error) -> &'static str {
    if let Some(error) = error.downcast_ref::<origin::Error>() {
        return error.kind().token();
    }
    if error.is::<disk::Failed>() {
        return "disk";
    }
    match error.downcast_ref() {
        Some(Broken::Source(why)) => why,
        Some(Broken::Late) => "too-slow",
        Some(Broken::Unreadable) => "disk",
        Some(Broken::Left) | None => "broken-off",
    }
}
