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
    /// When it last failed.
    failed_at: AtomicU64,
    /// Until when it rests, or is left to whoever tries it; 0: it has not failed too often in a row.
    rests_until: AtomicU64,
    /// When it came, or came back; 0: it has been there from the beginning.
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
    /// It has rested, and nobody knows whether it is well: one request may try it.
    Rested(Trial),
    /// Failed too often in a row; asked only if nobody else can be.
    Resting,
    /// The active checks hold it for down.
    Down,
}

/// The right to try a server that has rested: whoever [takes](Health::take) it first has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial(u64);

impl Health {
    /// That of one which comes `now` beside others: it works up to its share as one that comes back.
    pub(crate) fn joined(now: u64) -> Self {
        Self {
            back_since: AtomicU64::new(now.max(1)),
            ..Self::default()
        }
    }

    pub(crate) fn standing(&self, now: u64, slow_start: Duration) -> Standing {
        if self.down.load(Relaxed) {
            return Standing::Down;
        }
        match self.rests_until.load(Relaxed) {
            0 => Standing::Healthy(share(now, self.back_since.load(Relaxed), slow_start)),
            until if now < until => Standing::Resting,
            until => Standing::Rested(Trial(until)),
        }
    }

    /// Takes the trial, which others then have to leave alone for another `rest`: one that never tells how it went (its client
    /// left, say) keeps the server out no longer than that. `false`: somebody else was first.
    pub(crate) fn take(&self, trial: Trial, now: u64, rest: Duration) -> bool {
        let until = after(now, rest);
        let taken = self
            .rests_until
            .compare_exchange(trial.0, until, Relaxed, Relaxed);
        taken.is_ok()
    }

    /// Whether it answers, and all know.
    pub(crate) fn is_good(&self) -> bool {
        // Read only: the common case leaves the cache line shared between the workers.
        let has_failed = self.in_row.load(Relaxed) > 0 || self.rests_until.load(Relaxed) > 0;
        !has_failed && !self.told.load(Relaxed)
    }

    /// It begins `now` to answer what it was asked at `began`. The rest of a server ends with that, unless it has failed since it was asked:
    /// what it began before says nothing of how it is. The row does not, since what has begun may break. Returns whether it rests no more.
    pub(crate) fn answers(&self, began: u64, now: u64) -> bool {
        if self.rests_until.load(Relaxed) > 0 {
            if began < self.failed_at.load(Relaxed) {
                return false;
            }
            self.back_since.store(now.max(1), Relaxed);
            self.rests_until.store(0, Relaxed);
        }
        true
    }

    /// It has answered `now` all of what it was asked at `began`, which ends the row too; returns whether that is news, after the log was
    /// told that it fails.
    pub(crate) fn succeeded(&self, began: u64, now: u64) -> bool {
        if !self.answers(began, now) {
            return false;
        }
        self.in_row.store(0, Relaxed);
        self.told.swap(false, Relaxed)
    }

    /// The rest of what it was asked at `began` is not waited for any more. That is as good as all of it, unless it has failed since:
    /// clients that give up on one that hangs do not keep it from its rest.
    pub(crate) fn was_left(&self, began: u64, now: u64) -> bool {
        began >= self.failed_at.load(Relaxed) && self.succeeded(began, now)
    }

    /// It has failed, and rests after too many failures in a row. The row ends with a whole answer only, so that it rests again at once
    /// when it fails on trial. Returns whether the log is to be told.
    pub(crate) fn failed(&self, now: u64, rule: PassiveHealth) -> bool {
        self.failed_at.store(now, Relaxed);
        let in_row = self.in_row.fetch_add(1, Relaxed).saturating_add(1);
        if rule.failures > 0 && in_row >= rule.failures {
            self.rests_until.store(after(now, rule.rest), Relaxed);
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
            self.rests_until.store(0, Relaxed);
            // That it is back is said once.
            self.told.store(false, Relaxed);
        }
        news
    }
}

/// When a rest ends that begins `now`. Never 0.
fn after(now: u64, rest: Duration) -> u64 {
    now.saturating_add(rest.as_millis() as u64).max(1)
}

/// The share of its weight that a server takes `now` if it came back at `back` (0: it has been there from the beginning).
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
mod tests;
