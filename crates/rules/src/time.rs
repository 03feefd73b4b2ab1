//! Time as the rules see it: milliseconds since the Unix epoch, passed in by the caller.

use std::time::Duration;

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
    /// Time passed since `earlier`; zero where `earlier` lies in the future.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
    /// The moment `by` later, at the end of time at most.
    pub const fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by.as_millis() as u64))
    }
    /// An HTTP date in any of the three formats (RFC 9110 section 5.6.7); `None` if it is not one.
    /// `now` decides the century of an RFC 850 year (more than 50 years ahead means the past).
    pub fn parse(date: &[u8], now: Self) -> Option<Self> {
        todo!()
    }
    /// The IMF-fixdate form (RFC 9110 section 5.6.7).
    pub fn to_http(self) -> String {
        todo!()
    }
}
