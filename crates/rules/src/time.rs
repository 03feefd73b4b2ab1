//! Time as the rules see it: milliseconds since the Unix epoch, which the caller passes in.

mod date;

use std::time::{Duration, SystemTime};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The moment `millis` milliseconds after the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The moment `secs` seconds after the Unix epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// The time that passed since `earlier`; zero if `earlier` lies in the future.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The time between two moments, whichever is the earlier.
    pub const fn distance(self, other: Self) -> Duration {
        Duration::from_millis(self.0.abs_diff(other.0))
    }

    /// The moment `by` later, saturating at the last moment that can be expressed.
    #[must_use]
    pub const fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(millis(by)))
    }

    /// The moment `by` earlier, saturating at the first moment that can be expressed.
    #[must_use]
    pub const fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(millis(by)))
    }

    /// Parses an HTTP date in any of the three formats (RFC 9110 section 5.6.7); `None` if it is not one.
    ///
    /// Letters match in either case, and a zone other than `GMT` is not accepted (RFC 9111 section 4.2). The name of
    /// the day must be one, but need not agree with the date. A moment before 1970 reads as the epoch. `now` decides
    /// the century of an RFC 850 year: more than 50 years ahead means the past.
    pub fn parse(date: &[u8], now: Self) -> Option<Self> {
        date::parse(date, now)
    }

    /// Renders the IMF-fixdate form (RFC 9110 section 5.6.7). Any moment after the year 9999 becomes the end of that
    /// year.
    pub fn to_http(self) -> String {
        let secs = self.as_secs().min(LAST_SECOND);
        httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(secs))
    }
}

/// A moment before 1970 counts as the epoch.
/// Returns a duration in milliseconds, at most as many as a time has.
const fn millis(by: Duration) -> u64 {
    let by = by.as_millis();
    if by > u64::MAX as u128 {
        u64::MAX
    } else {
        by as u64
    }
}

impl From<SystemTime> for Time {
    fn from(moment: SystemTime) -> Self {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH);
        Self::default().plus(since.unwrap_or_default())
    }
}

/// The last second of the year 9999. The format has four digits for the year.
const LAST_SECOND: u64 = 253_402_300_799;

#[cfg(test)]
mod tests;
