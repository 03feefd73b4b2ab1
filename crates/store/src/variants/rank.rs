//! Which of several matching responses is taken.

use crate::Stored;
use rules::time::Time;

/// The order of preference among stored responses that match a request, before their dates count.
///
/// Fresh goes before stale: the most recent *suitable* response is taken (RFC 9111 section 4). Among fresh responses,
/// one that a `Vary` selected goes before one without `Vary`. Many resources omit it by mistake from the response to a
/// request without the nominated fields, and that response would push aside the better ones for everybody (section
/// 4.1). An application that has dropped `Vary` for good looks the same: its old variants answer until they are stale,
/// as the section has it, and then the response without `Vary` does, because it is newer.
///
/// An origin's failure is stored to spare the origin, and hides nothing that may be sent in its place. Error pages omit
/// the `Vary` of the page that they replace, and a fresh one would be sent to clients for whom a page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// An origin's failure past its lifetime.
    Failure,
    /// Past its lifetime.
    Stale,
    /// An origin's failure that is fresh.
    FreshFailure,
    /// Past its lifetime, selected by a `Vary`, and within a window in which it may still be sent.
    InWindow,
    /// Fresh, for any request.
    ForAny,
    /// Fresh, and selected by a `Vary`.
    Chosen,
}

impl Rank {
    pub(crate) fn of(stored: &Stored, now: Time) -> Self {
        let facts = &stored.facts;
        match (facts.remaining(now), &stored.variant) {
            (Some(_), _) if facts.is_failure => Self::FreshFailure,
            (Some(_), None) => Self::ForAny,
            (Some(_), Some(_)) => Self::Chosen,
            (None, _) if facts.is_failure => Self::Failure,
            (None, Some(_)) if facts.staleness(now) < facts.longest_window() => Self::InWindow,
            (None, _) => Self::Stale,
        }
    }
}
