//! Which of several that match a request is taken.

use crate::Stored;
use rules::time::Time;

/// What goes before what, of the stored responses that match a request, whatever their dates.
///
/// What is fresh goes before what is stale: the most recent one is taken of those that are suitable (RFC 9111 section 4). Of what is
/// fresh, what a `Vary` has chosen goes before what omits it: many resources omit it by mistake from the response to a request that says
/// nothing, which would push aside the better ones for everybody (section 4.1). Nobody can tell that from an application that does
/// without `Vary` for good; there, old variants answer until they are stale, as the section has it, and what omits it from then on, being
/// newer.
///
/// An origin's failure is kept to spare it, and hides nothing that may be sent in its place: pages of errors leave out the `Vary` of what they
/// stand for, and one that is fresh would be answered to those who have a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// An origin's failure past its lifetime.
    Failure,
    /// Past its lifetime.
    Stale,
    /// An origin's failure that is fresh.
    FreshFailure,
    /// Past its lifetime, chosen by a `Vary`, and within a window in which it may be sent all the same.
    InWindow,
    /// Fresh, for any request.
    ForAny,
    /// Fresh, and chosen by a `Vary`.
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
