//! The one record of what happened to a request: answers, counters and the access log all render the same value.

mod counters;
mod record;

pub use counters::{Counters, FORWARDS, HIT_KINDS, bump};
pub use record::{Ending, Record};

use crate::{content_key::Unkeyed, error::Failure, purge_clients::Operation};
use rules::{
    reuse::{self, StaleReason, ValidateReason},
    status::{Forward, Handled},
    storable::NotStorable,
};
use std::{sync::Arc, time::Duration};
use store::Refused;

/// Why, beyond RFC 9211's own words: the `detail` of `Cache-Status`.
#[derive(Clone, Debug)]
pub enum Detail {
    /// The answer was not stored.
    NotStored(NotStorable),
    /// It was not stored for a reason of ours.
    Unkept(Unkept),
    /// Something stored was not used before the origin confirmed it.
    Validated(ValidateReason),
    /// Something stored was not used before the origin confirmed it: purges on other nodes may have been missed.
    Unsure,
    /// It was sent stale, and was allowed to be.
    Stale(StaleReason),
    /// Sent stale because the origin failed.
    StaleOnFailure(Failing),
    /// Fresh, and sent because the origin, whose word the client wanted, failed.
    FreshOnFailure(Failing),
    /// The site says so.
    Bypass(Bypass),
    /// We answered ourselves.
    Failed(Failure),
    /// The listener answered, without asking: why, in one token.
    Refused(&'static str),
    /// It was a purge, which was carried out.
    Purged(Operation),
    /// It was a purge, which was not: why, in one token.
    Unpurged(&'static str),
}

/// How an origin failed for whose answer something stored stands in.
#[derive(Clone, Debug)]
pub enum Failing {
    /// It answered with an error.
    Status,
    /// No answer of its came. Apart, lest each outcome be as large.
    Unreachable(Arc<Failure>),
}

impl Failing {
    /// As the rules know it.
    pub const fn kind(&self) -> reuse::Failure {
        match self {
            Self::Status => reuse::Failure::Status,
            Self::Unreachable(_) => reuse::Failure::Unreachable,
        }
    }

    /// Whether no server was asked.
    pub fn asked_nobody(&self) -> bool {
        match self {
            Self::Status => false,
            Self::Unreachable(failure) => failure.asked_nobody(),
        }
    }

    fn token(&self, on_status: &'static str) -> &'static str {
        match self {
            Self::Status => on_status,
            Self::Unreachable(failure) => failure.detail(),
        }
    }
}

impl From<Refused> for Detail {
    fn from(refused: Refused) -> Self {
        Self::Unkept(match refused {
            Refused::Purged => Unkept::Invalidated,
            Refused::Superseded => Unkept::Superseded,
            Refused::TooLarge => Unkept::TooLarge,
        })
    }
}

/// Why a storable answer was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkept {
    /// Larger than the route stores, or than there is room for.
    TooLarge,
    /// Its key was invalidated while it was fetched.
    Invalidated,
    /// Something newer had come meanwhile, of which nobody knew when the origin was asked.
    Superseded,
    /// An error in answer to a request for a part, which may be about the range.
    OfRange,
}

/// Why the store was bypassed: mostly a rule of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bypass {
    /// Nothing is stored on this route (`cache = false`).
    Route,
    /// A cookie of the request.
    Cookie,
    /// A header field of the request.
    Header,
    /// The path.
    Path,
    /// The path leads to another route once it is read as some applications read it (`..`, empty segments, `;`): no rule, but what is
    /// meant is the application's to say.
    Ambiguous,
    /// The method.
    Method,
    /// A query parameter.
    Query,
    /// The client wants to switch protocols (RFC 9110 section 7.8); no rule, but nothing a store could answer.
    Upgrade,
    /// The request brings content with a method that has none.
    Content,
    /// Its content, or what it asks of a GraphQL service.
    Unkeyed(Unkeyed),
    /// `Connection` names fields that are meant for the origin, which it does not get then (RFC 9110 section 7.6.1): no rule, but what
    /// is fetched without them is not for those who have them.
    Connection,
    /// Which group of users its sender belongs to is not known (`user_context`).
    Group,
}

impl Detail {
    /// The reason as `detail` of `Cache-Status` spells it.
    pub fn token(&self) -> &'static str {
        match self {
            Self::NotStored(why) => why.token(),
            Self::Unkept(Unkept::TooLarge) => "too-large",
            Self::Unkept(Unkept::Invalidated) => "invalidated",
            Self::Unkept(Unkept::Superseded) => "superseded",
            Self::Unkept(Unkept::OfRange) => "range-error",
            Self::Validated(why) => why.token(),
            Self::Unsure => "purges-unknown",
            Self::Stale(why) => why.token(),
            Self::StaleOnFailure(why) => why.token("stale-if-error"),
            Self::FreshOnFailure(why) => why.token("fresh-if-error"),
            Self::Refused(why) | Self::Unpurged(why) => why,
            Self::Bypass(why) => why.token(),
            Self::Failed(failure) => failure.detail(),
            Self::Purged(Operation::Exact) => "purge-exact",
            Self::Purged(Operation::Tags) => "purge-tags",
            Self::Purged(Operation::Wildcard) => "purge-wildcard",
            Self::Purged(Operation::All) => "purge-all",
        }
    }
}

impl Bypass {
    /// The rule as `detail` of `Cache-Status` spells it.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Cookie => "cookie",
            Self::Header => "header",
            Self::Path => "path",
            Self::Ambiguous => "path-ambiguous",
            Self::Method => "method",
            Self::Query => "query",
            Self::Upgrade => "upgrade",
            Self::Content => "content",
            Self::Unkeyed(why) => why.token(),
            Self::Connection => "connection",
            Self::Group => "group-unknown",
        }
    }
}

/// What happened to one request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Hit, forwarded and why, or answered by ourselves (RFC 9211 section 2).
    pub handled: Handled,
    /// Remaining lifetime of what was sent, in seconds; negative when stale.
    pub ttl: Option<i64>,
    /// Why, where there is more to say.
    pub detail: Option<Detail>,
    /// From the request to the origin's final head, or its failure; `None` where no origin was asked.
    pub origin_time: Option<Duration>,
    /// The origin said itself how old its answer is: a cache stands before it.
    pub aged: bool,
}

impl Outcome {
    /// Answered by ourselves, and that is all.
    pub const OWN: Self = Self {
        handled: Handled::Own,
        ttl: None,
        detail: None,
        origin_time: None,
        aged: false,
    };

    /// Whether the answer is for everybody: it is stored, or would be if there were room.
    pub const fn is_for_all(&self) -> bool {
        match self.handled {
            // What we say ourselves, where an origin was asked in vain.
            _ if matches!(self.detail, Some(Detail::Failed(_))) => false,
            Handled::Hit => true,
            Handled::Forwarded {
                stored, collapsed, ..
            } => {
                let is_storable = matches!(self.detail, Some(Detail::Unkept(_)));
                stored || collapsed || is_storable || self.is_on_failure()
            }
            Handled::Own => false,
        }
    }

    /// Whether the content that is sent has just come from an origin.
    pub const fn has_new_content(&self) -> bool {
        matches!(
            self.handled,
            Handled::Forwarded {
                status: Some(status),
                ..
            } if status != 304
        ) && !self.is_on_failure()
    }

    /// Whether the store answered because the origin failed.
    pub const fn is_on_failure(&self) -> bool {
        matches!(
            self.detail,
            Some(Detail::StaleOnFailure(_) | Detail::FreshOnFailure(_))
        )
    }

    /// Answered from the store.
    pub const fn hit(ttl: i64) -> Self {
        Self {
            handled: Handled::Hit,
            ttl: Some(ttl),
            detail: None,
            origin_time: None,
            aged: false,
        }
    }

    /// Forwarded for `why`.
    pub const fn forwarded(why: Forward) -> Self {
        let handled = Handled::Forwarded {
            why,
            status: None,
            stored: false,
            collapsed: false,
        };
        Self {
            handled,
            ttl: None,
            detail: None,
            origin_time: None,
            aged: false,
        }
    }

    /// Answered by ourselves.
    pub const fn failed(failure: Failure) -> Self {
        Self {
            handled: Handled::Own,
            ttl: None,
            detail: Some(Detail::Failed(failure)),
            origin_time: None,
            aged: false,
        }
    }

    /// nginx's word for it (`$upstream_cache_status`).
    pub fn nginx_word(&self) -> &'static str {
        match (self.handled, &self.detail) {
            (Handled::Hit, Some(Detail::Stale(StaleReason::WhileRevalidate))) => "UPDATING",
            (Handled::Hit, Some(Detail::Stale(_))) | (_, Some(Detail::StaleOnFailure(_))) => {
                "STALE"
            }
            (Handled::Hit, _) | (_, Some(Detail::FreshOnFailure(_))) => "HIT",
            (
                Handled::Forwarded {
                    why,
                    status: Some(304),
                    ..
                },
                _,
            ) if may_validate(why) => "REVALIDATED",
            (Handled::Forwarded { why, .. }, _) => match why {
                Forward::Bypass | Forward::Method => "BYPASS",
                Forward::Stale | Forward::Request => "EXPIRED",
                Forward::UriMiss | Forward::VaryMiss | Forward::Miss | Forward::Partial => "MISS",
            },
            (Handled::Own, _) => "NONE",
        }
    }
}

/// Whether a 304 to a request forwarded for this reason confirms something stored. Where nothing is, it answers the client's own
/// condition.
const fn may_validate(why: Forward) -> bool {
    matches!(
        why,
        Forward::VaryMiss | Forward::Request | Forward::Stale | Forward::Partial
    )
}

#[cfg(test)]
mod tests;
