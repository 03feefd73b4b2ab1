//! What is known of one server's health: failures in a row, rest, the checks' verdict, slow start, and what the log was told of it.
//! All of it atomics, since all workers share it; rules take `now` in milliseconds since the origin was made.

use crate::config::PassiveHealth;
use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// A server's health, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct Health {
    in_row: AtomicU32,
    failures: AtomicU64,
    rests_until: AtomicU64,
    /// When the checks brought it back; 0: they never took it out.
    back_since: AtomicU64,
    down: AtomicBool,
    /// Whether the last that the log was told is that it fails.
    told: AtomicBool,
    /// Until then the log is not told again that it fails.
    quiet_until: AtomicU64,
}

/// Milliseconds between two words on one server's failing: one that answers and fails by turns fills no log.
const QUIET: u64 = 10_000;

/// Whether a server may be asked now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    /// With this share of its weight, above 0 and at most 1.
    Healthy(f64),
    /// Failed too often in a row; asked only if nobody else can be.
    Resting,
    /// The active checks hold it for down.
    Down,
}

impl Health {
    pub(crate) fn standing(&self, now: u64, slow_start: Duration) -> Standing {
        if self.down.load(Relaxed) {
            return Standing::Down;
        }
        let rests_until = self.rests_until.load(Relaxed);
        if now < rests_until {
            return Standing::Resting;
        }
        let back = rests_until.max(self.back_since.load(Relaxed));
        Standing::Healthy(share(now, back, slow_start))
    }

    /// It answered; returns whether that is news, after the log was told that it fails.
    pub(crate) fn succeeded(&self) -> bool {
        // Read first: the common case leaves the cache line shared between the workers.
        if self.in_row.load(Relaxed) > 0 {
            self.in_row.store(0, Relaxed);
        }
        self.told.load(Relaxed) && self.told.swap(false, Relaxed)
    }

    /// Counts a failure and sends the server to rest after too many in a row. The row ends with a success only, so a
    /// server back from its rest that fails again rests again at once. Returns whether the log is to be told.
    pub(crate) fn failed(&self, now: u64, rule: PassiveHealth) -> bool {
        self.failures.fetch_add(1, Relaxed);
        let in_row = self.in_row.fetch_add(1, Relaxed).saturating_add(1);
        if rule.failures > 0 && in_row >= rule.failures {
            let until = now.saturating_add(rule.rest.as_millis() as u64);
            self.rests_until.store(until, Relaxed);
        }
        if now < self.quiet_until.load(Relaxed) || self.told.swap(true, Relaxed) {
            return false;
        }
        self.quiet_until.store(now.saturating_add(QUIET), Relaxed);
        true
    }

    /// The checks take it out; returns whether that is news.
    pub(crate) fn mark_down(&self) -> bool {
        !self.down.swap(true, Relaxed)
    }

    /// The checks bring it back; returns whether that is news.
    pub(crate) fn mark_up(&self, now: u64) -> bool {
        let news = self.down.swap(false, Relaxed);
        if news {
            self.back_since.store(now.max(1), Relaxed);
            self.in_row.store(0, Relaxed);
            // That it is back is said once.
            self.told.store(false, Relaxed);
        }
        news
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}

/// The share of its weight that a server takes `now` if it came back at `back` (0: it was never away).
#[allow(
    clippy::cast_precision_loss,
    reason = "a share need not be exact to the millisecond"
)]
fn share(now: u64, back: u64, slow_start: Duration) -> f64 {
    let ramp = slow_start.as_millis() as u64;
    let since = now.saturating_sub(back);
    if back == 0 || since >= ramp {
        return 1.0;
    }
    // A tenth at least: a share of nothing would never prove anything.
    (since as f64 / ramp as f64).max(0.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: PassiveHealth = PassiveHealth {
        failures: 3,
        rest: Duration::from_secs(10),
    };

    #[test]
    fn rests_after_failures_in_a_row_only() {
        let health = Health::default();
        for _ in 0..2 {
            health.failed(100, RULE);
        }
        health.succeeded();
        for _ in 0..2 {
            health.failed(100, RULE);
        }
        assert_eq!(health.standing(100, Duration::ZERO), Standing::Healthy(1.0));
        health.failed(100, RULE);
        assert_eq!(health.standing(10_099, Duration::ZERO), Standing::Resting);
        assert_eq!(
            health.standing(10_100, Duration::ZERO),
            Standing::Healthy(1.0)
        );
        health.failed(10_100, RULE);
        assert_eq!(health.standing(10_101, Duration::ZERO), Standing::Resting);
        assert_eq!(health.failures(), 6);
    }

    #[test]
    fn never_rests_where_the_rule_is_off() {
        let health = Health::default();
        let off = PassiveHealth {
            failures: 0,
            ..RULE
        };
        for _ in 0..100 {
            health.failed(0, off);
        }
        assert_eq!(health.standing(0, Duration::ZERO), Standing::Healthy(1.0));
    }

    #[test]
    fn the_log_is_told_of_a_change_and_seldom_of_many() {
        let health = Health::default();
        assert!(!health.succeeded(), "it never failed");
        assert!(health.failed(100, RULE));
        assert!(!health.failed(50_000, RULE), "it was said");
        assert!(health.succeeded());
        assert!(!health.succeeded());
        assert!(health.failed(60_000, RULE));
        assert!(health.succeeded());
        for now in 60_001..60_010 {
            assert!(!health.failed(now, RULE), "up and down");
            assert!(!health.succeeded());
        }
        assert!(!health.failed(69_999, RULE));
        assert!(health.failed(70_000, RULE));
        health.mark_down();
        assert!(health.mark_up(80_000), "the checks say that it is back");
        assert!(!health.succeeded());
    }

    #[test]
    fn share_grows_after_return() {
        let health = Health::default();
        let ramp = Duration::from_secs(10);
        assert_eq!(health.standing(0, ramp), Standing::Healthy(1.0));
        health.mark_down();
        assert_eq!(health.standing(1_000, ramp), Standing::Down);
        health.mark_up(1_000);
        assert_eq!(health.standing(1_000, ramp), Standing::Healthy(0.1));
        assert_eq!(health.standing(6_000, ramp), Standing::Healthy(0.5));
        assert_eq!(health.standing(11_000, ramp), Standing::Healthy(1.0));
    }
}
