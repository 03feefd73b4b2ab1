//! Why a request went as it did, beyond the terms of RFC 9211, and the token of each reason.

use crate::{content_key::Unkeyed, error::Failure, purge_clients::Operation};
use http::StatusCode;
use rules::{
    reuse::{self, StaleReason, ValidateReason},
    storable::NotStorable,
};
use std::sync::Arc;
use store::Refused;

/// The reason, beyond the terms of RFC 9211: the `detail` of `Cache-Status`.
#[derive(Clone, Debug)]
pub enum Detail {
    /// The answer was not stored.
    NotStored(NotStorable),
    /// It was storable, but was not stored for a reason of this cache.
    Unkept(Unkept),
    /// A stored response was not used before the origin confirmed it.
    Validated(ValidateReason),
    /// A stored response was not used before the origin confirmed it: purges on other nodes may have been missed.
    Unsure,
    /// Sent stale, as was allowed.
    Stale(StaleReason),
    /// Sent stale because the origin failed.
    StaleOnFailure(Failing),
    /// Sent fresh because the origin, whose answer the client wanted, failed.
    FreshOnFailure(Failing),
    /// The store was bypassed.
    Bypass(BypassReason),
    /// The request failed, and the answer was made here.
    Failed(Failure),
    /// The listener answered on its own: the reason, in one token.
    Refused(&'static str),
    /// The request was a purge, and was carried out.
    Purged(Operation),
    /// The request was a purge, and was not carried out: the reason, in one token.
    Unpurged(&'static str),
}

/// How an origin failed when a stored response stands in for its answer.
#[derive(Clone, Debug)]
pub enum Failing {
    /// It answered with this error.
    Status(StatusCode),
    /// What made this answer broke off.
    BrokeOff(StatusCode),
    /// It gave no answer. Behind a pointer, so that outcomes stay small.
    Unreachable(Arc<Failure>),
}

impl Failing {
    /// Returns it in the terms of the rules.
    pub const fn kind(&self) -> reuse::Failure {
        match self {
            Self::Status(_) => reuse::Failure::Status,
            Self::BrokeOff(_) | Self::Unreachable(_) => reuse::Failure::Unreachable,
        }
    }

    /// Returns the status that came, if any.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status(status) | Self::BrokeOff(status) => Some(status.as_u16()),
            Self::Unreachable(_) => None,
        }
    }

    /// Whether no server was asked.
    pub fn asked_nobody(&self) -> bool {
        match self {
            Self::Status(_) | Self::BrokeOff(_) => false,
            Self::Unreachable(failure) => failure.asked_nobody(),
        }
    }

    /// Whether a server may have received some of the request.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Status(_) | Self::BrokeOff(_) => true,
            Self::Unreachable(failure) => failure.may_have_arrived(),
        }
    }

    fn token(&self, on_status: &'static str) -> &'static str {
        match self {
            Self::Status(_) => on_status,
            Self::BrokeOff(_) => "script",
            Self::Unreachable(failure) => failure.token(),
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
    /// Larger than the route stores, or no room for it.
    TooLarge,
    /// It would have gone to disk, but memory had no room at that moment for what waits to be written.
    NoRoom,
    /// Its key was invalidated while it was fetched.
    Invalidated,
    /// Something newer had come that was not known when the origin was asked.
    Superseded,
    /// A reload has changed the rules for it since the origin was asked.
    Overruled,
    /// An error answer to a request for a part, which may be about the range.
    OfRange,
    /// A part that was fetched while the whole was on its way: the whole is kept.
    Beside,
}

/// Why the store was bypassed: usually a rule of the site.
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
    /// The request takes another route as some applications read it: its path (`..`, empty segments, `;`), its query, or
    /// the case of a cookie's name. Not a rule: only the application decides what is meant.
    Ambiguous,
    /// The method.
    Method,
    /// A query parameter.
    Query,
    /// The client asks for another protocol (RFC 9110 section 7.8). Not a rule: the store could not answer.
    Upgrade,
    /// The request has content, although its method has none.
    Content,
    /// The request's content, or the GraphQL operation that it asks for.
    Unkeyed(Unkeyed),
    /// `Connection` names fields that are meant for the origin, which therefore does not get them (RFC 9110 section
    /// 7.6.1). Not a rule: what is fetched without these fields is not for requests that have them.
    Connection,
    /// The client's group of users is not known (`user_context`).
    Group,
}

impl Detail {
    /// Returns the reason as written in `detail` of `Cache-Status`.
    pub fn token(&self) -> &'static str {
        match self {
            Self::NotStored(why) => why.token(),
            Self::Unkept(Unkept::TooLarge) => "too-large",
            Self::Unkept(Unkept::NoRoom) => "no-room",
            Self::Unkept(Unkept::Invalidated) => "invalidated",
            Self::Unkept(Unkept::Superseded) => "superseded",
            Self::Unkept(Unkept::Overruled) => "overruled",
            Self::Unkept(Unkept::OfRange) => "range-error",
            Self::Unkept(Unkept::Beside) => "beside",
            Self::Validated(why) => why.token(),
            Self::Unsure => "purges-unknown",
            Self::Stale(why) => why.token(),
            Self::StaleOnFailure(why) => why.token("stale-if-error"),
            Self::FreshOnFailure(why) => why.token("fresh-if-error"),
            Self::Refused(why) | Self::Unpurged(why) => why,
            Self::Bypass(why) => why.token(),
            Self::Failed(failure) => failure.token(),
            Self::Purged(Operation::Exact) => "purge-exact",
            Self::Purged(Operation::Tags) => "purge-tags",
            Self::Purged(Operation::Wildcard) => "purge-wildcard",
            Self::Purged(Operation::All) => "purge-all",
        }
    }
}

impl BypassReason {
    /// Returns the reason as written in `detail` of `Cache-Status`.
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
