//! Why a request went as it did, beyond RFC 9211's own words, and the token of each reason.

use crate::{content_key::Unkeyed, error::Failure, purge_clients::Operation};
use http::StatusCode;
use rules::{
    reuse::{self, StaleReason, ValidateReason},
    storable::NotStorable,
};
use std::sync::Arc;
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
    Bypass(BypassReason),
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
    /// It answered with this error.
    Status(StatusCode),
    /// No answer of its came. Apart, lest each outcome be as large.
    Unreachable(Arc<Failure>),
}

impl Failing {
    /// As the rules know it.
    pub const fn kind(&self) -> reuse::Failure {
        match self {
            Self::Status(_) => reuse::Failure::Status,
            Self::Unreachable(_) => reuse::Failure::Unreachable,
        }
    }

    /// The status that came, where one did.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status.as_u16()),
            Self::Unreachable(_) => None,
        }
    }

    /// Whether no server was asked.
    pub fn asked_nobody(&self) -> bool {
        match self {
            Self::Status(_) => false,
            Self::Unreachable(failure) => failure.asked_nobody(),
        }
    }

    fn token(&self, on_status: &'static str) -> &'static str {
        match self {
            Self::Status(_) => on_status,
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
    /// A part that was fetched beside the whole on its way: that is what stays.
    Beside,
}

/// Why the store was bypassed: mostly a rule of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BypassReason {
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
            Self::Unkept(Unkept::Beside) => "beside",
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

impl BypassReason {
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
