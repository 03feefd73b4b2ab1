//! Hit-for-miss: keys whose last answer was of no use to others, so that requests for them do not queue behind each other; and why,
//! which is told for as long as the table has room for it. What came of a request with cookies or credentials may be that user's own: it
//! says nothing of requests without any.

use crate::{
    error::Failure,
    outcome::{Detail, Unkept},
    recent::RecentKeys,
};
use origin::Kind;
use rules::{storable::NotStorable, time::Time};
use std::time::Duration;

/// Seconds for which a key counts as not reusable.
const SECONDS: u64 = 120;

/// What a request shows of who asks, which may be why its answer was of no use to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Nothing.
    Anybody,
    /// Cookies that the origin gets.
    WithCookies,
    /// `Authorization`, perhaps beside cookies.
    WithCredentials,
}

impl Asker {
    /// The place of such requests for `key`, which is no key; `None` for that of all.
    fn place(self, key: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Anybody => None,
            Self::WithCookies => Some([key, b"\ncookies"].concat()),
            Self::WithCredentials => Some([key, b"\ncredentials"].concat()),
        }
    }
}

/// Why an answer was of no use to anybody but its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshared {
    /// It may not be stored.
    NotStored(NotStorable),
    /// It is larger than what is kept.
    TooLarge,
    /// It answers the request's own condition or range (206, 304, 412, 416), or finds fault with the request itself (400, 431, 429),
    /// which says nothing of the page.
    OfRequest,
    /// The origin failed, which says nothing of its next answer.
    Failed,
    /// No answer came of it, or not all of one, which says as little.
    Unanswered(Kind),
    /// It brought other bytes than it said, which says as little.
    BadPart,
    /// It was none to what was asked, which says as little.
    Unasked,
    /// Its key was purged or invalidated while it was fetched.
    Invalidated,
    /// A later request had brought something newer meanwhile.
    Superseded,
    /// It is stored, and each use has to be validated.
    Validated,
    /// It is stored, and was past its lifetime when it came: some have waited for it in vain.
    Late,
}

impl Unshared {
    /// All of them. A note in the table is a place in this list, counted from one.
    pub const ALL: [Self; 43] = [
        Self::NotStored(NotStorable::Method),
        Self::NotStored(NotStorable::Status),
        Self::NotStored(NotStorable::NoStoreRequest),
        Self::NotStored(NotStorable::NoStore),
        Self::NotStored(NotStorable::Private),
        Self::NotStored(NotStorable::Authorization),
        Self::NotStored(NotStorable::MustUnderstand),
        Self::NotStored(NotStorable::SetCookie),
        Self::NotStored(NotStorable::VaryStar),
        Self::NotStored(NotStorable::TooManyTags),
        Self::NotStored(NotStorable::Connection),
        Self::NotStored(NotStorable::NoFreshness),
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
        Self::Unanswered(Kind::Protocol),
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
        Self::Unanswered(Kind::Configuration),
        Self::Late,
    ];

    /// Why it was not stored, as `detail` of `Cache-Status` spells it, and `failed`; `None` where it was.
    pub fn token(self) -> Option<&'static str> {
        match self {
            Self::NotStored(why) => Some(why.token()),
            Self::TooLarge => Some(Detail::Unkept(Unkept::TooLarge).token()),
            Self::OfRequest => Some(NotStorable::Status.token()),
            Self::Failed => Some("failed"),
            Self::Unanswered(kind) => Some(kind.detail()),
            Self::BadPart => Some(Failure::BadPart.detail()),
            Self::Unasked => Some(Failure::Unasked.detail()),
            Self::Invalidated => Some(Detail::Unkept(Unkept::Invalidated).token()),
            Self::Superseded => Some(Detail::Unkept(Unkept::Superseded).token()),
            Self::Validated | Self::Late => None,
        }
    }

    /// Whether the next answer, whoever asks, will most likely not be stored either.
    pub const fn is_lasting(self) -> bool {
        match self {
            Self::NotStored(why) => !why.is_of_this_request(),
            Self::TooLarge => true,
            Self::OfRequest
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

    /// Whether who asked may be why: others may be given what all can share.
    const fn may_be_for_asker(self) -> bool {
        matches!(self, Self::NotStored(_) | Self::Validated)
    }

    /// How long requests for its key do not collapse. `None` where it says nothing of other requests, which may well be answered
    /// together: the request alone is the reason, a failure, or what came meanwhile. Once the page comes again, one request is to fetch it for all.
    pub const fn keeps_apart(self) -> Option<Duration> {
        match self {
            Self::NotStored(NotStorable::Authorization | NotStorable::NoStoreRequest)
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

/// The table. Shared by all workers; half a megabyte.
#[derive(Debug)]
pub struct HitForMiss(RecentKeys);

impl Default for HitForMiss {
    fn default() -> Self {
        Self(RecentKeys::lasting(SECONDS, 1 << 16))
    }
}

impl HitForMiss {
    /// The answer for `key`, to such a request, was of no use to others. Where that says nothing of other requests, the key does not count as
    /// known.
    pub fn remember(&self, key: &[u8], asker: Asker, why: Unshared, now: Time) {
        let place = Unshared::ALL.iter().position(|one| *one == why);
        let note = place.map_or(0, |place| place as u8 + 1);
        let keeps_apart = why.keeps_apart().is_some();
        let own = asker.place(key).filter(|_| why.may_be_for_asker());
        if keeps_apart && own.is_none() {
            self.0.remember(key, note, now);
            return;
        }
        if let Some(own) = own.filter(|_| keeps_apart) {
            self.0.remember(&own, note, now);
        }
        if !self.0.knows(key, now) {
            self.0.note(key, note);
        }
    }

    /// The answer for `key`, to such a request, is of use to others.
    pub fn forget(&self, key: &[u8], asker: Asker) {
        self.0.forget(key);
        if let Some(own) = asker.place(key) {
            self.0.forget(&own);
        }
    }

    /// Whether the last answer for `key` was lately of no use to others, as far as such a request is concerned.
    pub fn knows(&self, key: &[u8], asker: Asker, now: Time) -> bool {
        let is_own = |place: Vec<u8>| self.0.knows(&place, now);
        self.0.knows(key, now) || asker.place(key).is_some_and(is_own)
    }

    /// Why the last answer for `key` was of no use to others, however long ago that was.
    pub fn why(&self, key: &[u8]) -> Option<Unshared> {
        let place = usize::from(self.0.noted(key)?).checked_sub(1)?;
        Unshared::ALL.get(place).copied()
    }
}

#[cfg(test)]
mod tests;
