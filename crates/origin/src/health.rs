//! The health of one server: failures in a row, rest, the checks' verdict, slow start, and what the log was told. All
//! fields are atomics, because all workers share them. Rules take `now` in milliseconds since the origin was made.

use crate::config::PassiveHealth;
use std::{
    sync::atomic::{
        AtomicBool, AtomicU32, AtomicU64,
        Ordering::{self, Acquire, Relaxed, Release},
    },
    time::Duration,
};

/// A server's health, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct Health {
    in_row: AtomicU32,
    /// When it last failed. Written before the rest that follows.
    failed_at: AtomicU64,
    /// The [`Rest`] after too many failures in a row. 0: none.
    rest: AtomicU64,
    /// When it came, or came back. 0: it has been there from the beginning.
    back_since: AtomicU64,
    down: AtomicBool,
    /// Whether the log was last told that it fails.
    told: AtomicBool,
    /// Until when the log is not told again that it fails.
    quiet_until: AtomicU64,
}

/// Milliseconds between two log messages that one server fails, so that one that fails and answers by turns does not
/// fill the log.
const QUIET: u64 = 10_000;

/// Whether a server may be asked now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Availability {
    /// Yes, with this share of its weight, above 0 and at most 1.
    Healthy(f64),
    /// It has rested, and its state is unknown: one request may try it.
    Rested(Trial),
    /// It failed too often in a row, and is asked only if no other can be.
    Resting,
    /// The active checks consider it down.
    Down,
}

/// The right to try a server that has rested. The first request to [take](Health::take) it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial(Rest);

/// A trial that a request has taken. No other request can give it back.
#[derive(Debug)]
pub(crate) struct TakenTrial(Rest);

/// Until when a server is left alone, in the upper bits, and whether it is left to its trial, in the lowest. So a trial
/// that fails in the millisecond in which it was taken begins another rest than the trial's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rest(u64);

impl Rest {
    fn after_failures(now: u64, rest: Duration) -> Self {
        Self(after(now, rest) << 1)
    }

    fn of_trial(now: u64, rest: Duration) -> Self {
        Self(after(now, rest) << 1 | 1)
    }

    fn until(self) -> u64 {
        self.0 >> 1
    }
}

impl Health {
    /// Makes the health of a server that comes `now` beside others. It gets its full share gradually, like one that
    /// comes back.
    pub(crate) fn joined(now: u64) -> Self {
        Self {
            back_since: AtomicU64::new(now.max(1)),
            ..Self::default()
        }
    }

    /// Whether the checks consider it down.
    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Relaxed)
    }

    pub(crate) fn availability(&self, now: u64, slow_start: Duration) -> Availability {
        if self.is_down() {
            return Availability::Down;
        }
        match self.rest(Relaxed) {
            None => Availability::Healthy(share(now, self.back_since.load(Relaxed), slow_start)),
            Some(rest) if now < rest.until() => Availability::Resting,
            Some(rest) => Availability::Rested(Trial(rest)),
        }
    }

    /// Takes the trial. Others then leave it alone for another `rest`: if no result ever comes (because the client
    /// left, say), the server stays out no longer than that. `None`: another request was first.
    pub(crate) fn take(&self, trial: Trial, now: u64, rest: Duration) -> Option<TakenTrial> {
        let Trial(Rest(rested)) = trial;
        let left_to_it = Rest::of_trial(now, rest);
        let taken = self
            .rest
            .compare_exchange(rested, left_to_it.0, Release, Relaxed);
        taken.is_ok().then_some(TakenTrial(left_to_it))
    }

    /// Gives the trial back: what came of it says nothing of the server, and the next request may try it. If others have
    /// told since how the server does, or taken another trial, that stands.
    #[expect(clippy::needless_pass_by_value, reason = "a trial is given back once")]
    pub(crate) fn give_back(&self, taken: TakenTrial, now: u64) {
        let TakenTrial(Rest(left_to_it)) = taken;
        let Rest(over) = Rest::of_trial(now, Duration::ZERO);
        let _ = self
            .rest
            .compare_exchange(left_to_it, over, Relaxed, Relaxed);
    }

    /// Whether it answers and the log was told nothing else.
    pub(crate) fn is_good(&self) -> bool {
        // Only reads, so that in the common case the cache line stays shared between the workers.
        let has_failed = self.in_row.load(Relaxed) > 0 || self.rest(Relaxed).is_some();
        !has_failed && !self.told.load(Relaxed)
    }

    /// Records that it begins `now` to answer what it was asked at `began`. Returns whether it rests no more.
    ///
    /// This ends its rest, unless it has failed since it was asked: what it began earlier says nothing about its state.
    /// The row of failures does not end, because the answer may still break off.
    pub(crate) fn answers(&self, began: u64, now: u64) -> bool {
        while let Some(rest) = self.rest(Acquire) {
            if !self.is_ended_by(began) {
                return false;
            }
            self.end(rest, now);
        }
        true
    }

    /// Whether it has not failed since `began`, as far as the rest tells that was looked at before.
    fn is_ended_by(&self, began: u64) -> bool {
        began >= self.failed_at.load(Relaxed)
    }

    /// Ends this rest. If it has failed in the meantime, the rest that began then stays.
    fn end(&self, Rest(rest): Rest, now: u64) {
        self.back_since.store(now.max(1), Relaxed);
        let _ = self.rest.compare_exchange(rest, 0, Relaxed, Relaxed);
    }

    fn rest(&self, order: Ordering) -> Option<Rest> {
        let rest = self.rest.load(order);
        (rest > 0).then_some(Rest(rest))
    }

    /// Records that it has completed `now` its answer to what it was asked at `began`. This also ends the row of
    /// failures. Returns whether that is news: the log was told that it fails.
    pub(crate) fn succeeded(&self, began: u64, now: u64) -> bool {
        let in_row = self.in_row.load(Relaxed);
        self.answers(began, now) && self.end_row(in_row)
    }

    /// Ends a row of so many failures, unless one has come meanwhile. Returns whether the log was told that it fails.
    fn end_row(&self, in_row: u32) -> bool {
        let ended = self.in_row.compare_exchange(in_row, 0, Relaxed, Relaxed);
        ended.is_ok() && self.told.swap(false, Relaxed)
    }

    /// Records that nobody waits any more for the rest of what it was asked at `began`. That counts as a complete
    /// answer, unless it has failed since: clients that give up on a server that hangs do not keep it from its rest.
    pub(crate) fn was_left(&self, began: u64, now: u64) -> bool {
        began >= self.failed_at.load(Relaxed) && self.succeeded(began, now)
    }

    /// Records a failure. After too many in a row it rests. Only a complete answer ends the row, so that it rests again
    /// at once if it fails on trial. Returns whether the log is to be told.
    pub(crate) fn failed(&self, now: u64, rule: PassiveHealth) -> bool {
        self.failed_at.fetch_max(now, Relaxed);
        let in_row = self.in_row.fetch_add(1, Relaxed).saturating_add(1);
        if rule.failures > 0 && in_row >= rule.failures {
            let Rest(rest) = Rest::after_failures(now, rule.rest);
            self.rest.store(rest, Release);
        }
        if now < self.quiet_until.load(Relaxed) || self.told.swap(true, Relaxed) {
            return false;
        }
        self.quiet_until.store(now.saturating_add(QUIET), Relaxed);
        true
    }

    /// Takes it out, by the checks. Returns whether that is news.
    pub(crate) fn mark_down(&self) -> bool {
        !self.down.swap(true, Relaxed)
    }

    /// Brings it back, by the checks. Returns whether that is news.
    pub(crate) fn mark_up(&self, now: u64) -> bool {
        let news = self.down.swap(false, Relaxed);
        if news {
            self.back_since.store(now.max(1), Relaxed);
            self.in_row.store(0, Relaxed);
            self.rest.store(0, Relaxed);
            // The log is told only once that it is back.
            self.told.store(false, Relaxed);
        }
        news
    }
}

/// Returns when a rest that begins `now` ends. Never 0, and at most half of what the type holds.
fn after(now: u64, rest: Duration) -> u64 {
    let until = now.saturating_add(rest.as_millis() as u64);
    until.clamp(1, u64::MAX >> 1)
}

/// Returns the share of its weight that a server takes `now` if it came back at `back` (0: it has been there from the
/// beginning).
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
    // At least a tenth: with no share at all a server could never prove anything.
    (since as f64 / ramp as f64).max(0.1)
}

#[cfg(test)]
mod tests;
