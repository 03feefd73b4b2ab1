//! Why an answer was of use only to its client. How an answer becomes one of these: [`way`](crate::way).

use super::SECONDS;
use crate::{
    error::Failure,
    outcome::{Detail, Unkept},
};
use origin::Kind;
use rules::storable::NotStorable;
use std::time::Duration;

/// Why an answer was of use only to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshared {
    /// It may not be stored.
    NotStored(NotStorable),
    /// It is larger than what may be stored.
    TooLarge,
    /// Memory had no room for it at that moment, which says nothing about the next answer.
    NoRoom,
    /// It answers the request's own condition or range (206, 304, 412, 416), or rejects the request itself (400, 431,
    /// 429): this says nothing about the page.
    OfRequest,
    /// The origin failed, which says nothing about its next answer.
    Failed,
    /// There was no answer, or not a whole one, which says nothing about the next either.
    Unanswered(Kind),
    /// It had other bytes than it said, which says nothing about the next either.
    BadPart,
    /// It was not an answer to the request, which says nothing about the next either.
    Unasked,
    /// Its key was purged or invalidated while it was fetched.
    Invalidated,
    /// A later request had already brought something newer.
    Superseded,
    /// It is stored, but must be validated before each use.
    Validated,
    /// It is stored, but was past its lifetime when it came: requests that waited for it did so in vain.
    Late,
}

impl Unshared {
    /// All reasons. A note in the table is a position in this list, counted from one.
    pub const ALL: [Self; 49] = [
        Self::NotStored(NotStorable::Method),
        Self::NotStored(NotStorable::Status),
        Self::NotStored(NotStorable::NoStoreRequest),
        Self::NotStored(NotStorable::NoStore),
        Self::NotStored(NotStorable::Private),
        Self::NotStored(NotStorable::Authorization),
        Self::NotStored(NotStorable::MustUnderstand),
        Self::NotStored(NotStorable::SetCookie),
        Self::NotStored(NotStorable::Cookies),
        Self::NotStored(NotStorable::VaryStar),
        Self::NotStored(NotStorable::TooManyTags),
        Self::NotStored(NotStorable::Connection),
        Self::NotStored(NotStorable::NoFreshness),
        Self::NotStored(NotStorable::EventStream),
        Self::TooLarge,
        Self::OfRequest,
        Self::Failed,
        Self::Validated,
        Self::BadPart,
        Self::Unasked,
        Self::Invalidated,
        Self::Superseded,
        Self::Unanswered(Kind::Unresolvable),
        Self::Unanswered(Kind::Refused),
        Self::Unanswered(Kind::NoSocket),
        Self::Unanswered(Kind::Declined),
        Self::Unanswered(Kind::ConnectTimeout),
        Self::Unanswered(Kind::Tls),
        Self::Unanswered(Kind::NoUpgrade),
        Self::Unanswered(Kind::Protocol),
        Self::Unanswered(Kind::StreamRefused),
        Self::Unanswered(Kind::FirstByteTimeout),
        Self::Unanswered(Kind::BetweenBytesTimeout),
        Self::Unanswered(Kind::WholeTimeout),
        Self::Unanswered(Kind::Truncated),
        Self::Unanswered(Kind::Malformed),
        Self::Unanswered(Kind::UnaskedSwitch),
        Self::Unanswered(Kind::HeadTooLarge),
        Self::Unanswered(Kind::QueueFull),
        Self::Unanswered(Kind::QueueTimeout),
        Self::Unanswered(Kind::NoHealthyServer),
        Self::Unanswered(Kind::Script),
        Self::Unanswered(Kind::RequestBody),
        Self::Unanswered(Kind::Spool),
        Self::Unanswered(Kind::Unreadable),
        Self::Unanswered(Kind::Outside),
        Self::Unanswered(Kind::Configuration),
        Self::Late,
        Self::NoRoom,
    ];

    /// Returns why it was not stored, as written in `detail` of `Cache-Status`, or `failed`; `None` if it was stored.
    pub fn token(self) -> Option<&'static str> {
        match self {
            Self::NotStored(why) => Some(why.token()),
            Self::TooLarge => Some(Detail::Unkept(Unkept::TooLarge).token()),
            Self::NoRoom => Some(Detail::Unkept(Unkept::NoRoom).token()),
            Self::OfRequest => Some(NotStorable::Status.token()),
            Self::Failed => Some("failed"),
            Self::Unanswered(kind) => Some(kind.token()),
            Self::BadPart => Some(Failure::BadPart.token()),
            Self::Unasked => Some(Failure::Unasked.token()),
            Self::Invalidated => Some(Detail::Unkept(Unkept::Invalidated).token()),
            Self::Superseded => Some(Detail::Unkept(Unkept::Superseded).token()),
            Self::Validated | Self::Late => None,
        }
    }

    /// Whether the next answer, to any client, will most likely not be stored either.
    pub const fn is_lasting(self) -> bool {
        match self {
            Self::NotStored(why) => !why.is_of_this_request(),
            Self::TooLarge => true,
            Self::NoRoom
            | Self::OfRequest
            | Self::Failed
            | Self::Unanswered(_)
            | Self::BadPart
            | Self::Unasked
            | Self::Invalidated
            | Self::Superseded
            | Self::Validated
            | Self::Late => false,
        }
    }

    /// Whether the client may be the reason: others may be given an answer that all can share.
    pub(super) const fn may_be_the_clients(self) -> bool {
        matches!(self, Self::NotStored(_) | Self::Validated)
    }

    /// Returns for how long requests for its key do not collapse. `None` if it says nothing about other requests, which
    /// may well share an answer: the reason is only this request, a failure, or what happened meanwhile. Once the page
    /// comes again, one request is to fetch it for all.
    pub const fn keeps_apart(self) -> Option<Duration> {
        match self {
            Self::NotStored(NotStorable::Authorization | NotStorable::NoStoreRequest)
            | Self::NoRoom
            | Self::OfRequest
            | Self::Failed
            | Self::Unanswered(_)
            | Self::BadPart
            | Self::Unasked
            | Self::Invalidated
            | Self::Superseded => None,
            _ => Some(Duration::from_secs(SECONDS)),
        }
    }
}
