//! The facts of a stored response, and what they tell at a moment.

use super::LifetimeSource;
use crate::time::Time;
use std::time::Duration;

/// How far this clock may run behind the clock by which a response was received: the clocks of several nodes differ a
/// little.
const SKEW: Duration = Duration::from_mins(1);

/// The least lifetime that a soft purge leaves.
const LEAST_LIVED: Duration = Duration::from_millis(1);

/// What is needed to judge a stored response, computed once when it is stored. Small and `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub struct Facts {
    /// When the response (its head) was received.
    pub response_time: Time,
    /// The value of `Date`, or the time of receipt.
    pub date: Time,
    /// The corrected initial age (RFC 9111 section 4.2.3), in milliseconds. Up to 2^31 seconds, which `Age` can say.
    pub initial_age_ms: u64,
    /// The freshness lifetime, in milliseconds, since site defaults may be below a second. A lifetime that the site
    /// gives counts from receipt, so it includes the initial age.
    pub lifetime_ms: u64,
    /// The source of the lifetime.
    pub source: LifetimeSource,
    /// Seconds past the lifetime in which a stale answer may be sent while a refresh runs.
    pub stale_while_revalidate: Option<u32>,
    /// Seconds past the lifetime in which a stale answer may be sent when the origin fails (RFC 5861 section 4).
    pub stale_if_error: Option<u32>,
    /// Whether the origin named that window, and the site does not replace it. Then it is the upper limit for every
    /// failure, also of an origin that cannot be reached (RFC 5861 section 4).
    pub limits_stale: bool,
    /// `no-cache` without field names: never reused without validation.
    pub no_cache: bool,
    /// `must-revalidate`, `proxy-revalidate`, or `s-maxage`, which implies that: not sent stale, except in the windows
    /// above. Beside `s-maxage`, the origin's own `stale-*` opens such a window; beside the other two it does not
    /// count. An event stream counts as one with `s-maxage`: only its origin knows who may get its events again.
    pub must_revalidate: bool,
    /// RFC 8246: a request's `max-age` does not lead to validation while the response is fresh.
    pub immutable: bool,
    /// Whether the status is an origin's failure ([`crate::reuse::is_failure`]). Such a response hides no other failure.
    pub is_failure: bool,
    /// Whether its content came without a strong validator and was confirmed since. What confirms it has a later `Date`
    /// or a tag, but no content: it does not tell which of several versions with one weak validator is held. So no
    /// validator of this response is strong.
    pub is_weakly_known: bool,
}

impl Facts {
    /// The origin's `Date`; `None` if it gave none. `Date` has whole seconds, and a time of receipt hardly ever has.
    pub const fn date_of_origin(&self) -> Option<Time> {
        let is_of_origin = self.date.as_millis().is_multiple_of(1000);
        if is_of_origin { Some(self.date) } else { None }
    }

    /// The current age at `now` (RFC 9111 section 4.2.3).
    ///
    /// If the response was received after `now`, a clock was set back, or is behind that of another node. Nobody knows
    /// by how much more than this distance, so that counts: otherwise a response with a lifetime of a second would stay
    /// fresh until the clock has caught up.
    pub const fn age(&self, now: Time) -> Duration {
        let resident = now.distance(self.response_time);
        Duration::from_millis(self.initial_age_ms).saturating_add(resident)
    }

    /// How long the response stays fresh from `now`; `None` if it is stale. It is fresh while `lifetime > age` (section
    /// 4.2). A response [of unknown age](Self::is_of_unknown_age) is stale. One whose lifetime was ended stays stale,
    /// however the clock is set.
    pub fn remaining(&self, now: Time) -> Option<Duration> {
        use LifetimeSource::{ClockSetBack, SoftPurge};
        if matches!(self.source, SoftPurge | ClockSetBack) || self.is_of_unknown_age(now) {
            return None;
        }
        let left = self.lifetime().checked_sub(self.age(now))?;
        (!left.is_zero()).then_some(left)
    }

    /// How long the response has been stale at `now`: zero if it is fresh, longer than any window if [its age is
    /// unknown](Self::is_of_unknown_age). Once that [is noted](Self::with_age_unknown), it counts from then.
    pub fn staleness(&self, now: Time) -> Duration {
        if self.is_of_unknown_age(now) {
            return Duration::MAX;
        }
        self.age(now).saturating_sub(self.lifetime())
    }

    /// The facts of a response that a soft purge makes stale at `at`. It stays stale, whatever the clock says later.
    #[must_use]
    pub fn softly_purged(self, at: Time) -> Self {
        if self.source == LifetimeSource::ClockSetBack {
            return self;
        }
        self.with_age_unknown(at).unwrap_or_else(|| {
            // One that had a lifetime keeps some: what was never fresh may not be sent even if the origin fails.
            let lived = self.age(at.max(self.response_time)).max(LEAST_LIVED);
            Self {
                lifetime_ms: self.lifetime_ms.min(lived.as_millis() as u64),
                source: LifetimeSource::SoftPurge,
                ..self
            }
        })
    }

    /// If the response is [of unknown age](Self::is_of_unknown_age) at `now`, its facts from then on: otherwise it would
    /// be young again when the clock comes to what it said at receipt. It stays stale, and counts as stale since `now`
    /// in the site's windows for an origin that fails. There is no other window: nobody knows whether it is within one
    /// that the origin limits.
    pub fn with_age_unknown(self, now: Time) -> Option<Self> {
        self.is_of_unknown_age(now).then(|| Self {
            response_time: now,
            // So that `Age` shows to others that it is stale.
            initial_age_ms: self.lifetime_ms,
            source: LifetimeSource::ClockSetBack,
            stale_while_revalidate: None,
            stale_if_error: self.stale_if_error.filter(|_| !self.limits_stale),
            ..self
        })
    }

    /// Whether the response was received well after `now`. Then the clock was set back since, and nobody knows how old
    /// the response is.
    fn is_of_unknown_age(&self, now: Time) -> bool {
        self.response_time.since(now) > SKEW
    }

    /// How long the response can be used from its beginning: its lifetime and the longest window that it opens.
    pub fn useful(&self) -> Duration {
        self.lifetime().saturating_add(self.longest_window())
    }

    /// The longer of the windows in which the response may be sent stale; zero if it has none.
    pub fn longest_window(&self) -> Duration {
        let windows = [self.stale_while_revalidate, self.stale_if_error];
        let stale = windows.into_iter().flatten().max().unwrap_or_default();
        Duration::from_secs(stale.into())
    }

    /// Whether the origin must be asked before every use of the response.
    pub const fn is_always_validated(&self) -> bool {
        self.no_cache || (self.lifetime_ms == 0 && self.stale_while_revalidate.is_none())
    }

    const fn lifetime(&self) -> Duration {
        Duration::from_millis(self.lifetime_ms)
    }
}
