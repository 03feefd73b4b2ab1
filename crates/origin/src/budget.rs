//! The budget for retries: a storm of them must not bury a struggling origin.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Length of a window in milliseconds. The window before counts too.
const WINDOW: u64 = 5_000;
/// Retries in ten seconds that are always allowed, so that a quiet site can retry at all.
const ALWAYS: u64 = 10;

/// Counts fetches and retries of the last ten seconds, in two windows, over all workers. Counts may be off by a few
/// when a window turns over, or several retries find the last room: the budget is a brake and need not be exact.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    window: AtomicU64,
    fetches: [AtomicU64; 2],
    retries: [AtomicU64; 2],
}

impl Budget {
    /// Counts a fetch.
    pub(crate) fn note(&self, now: u64) {
        let [current, _] = &self.fetches;
        self.turn(now);
        current.fetch_add(1, Relaxed);
    }

    /// Whether a retry is left of the budget of `percent` of the fetches.
    pub(crate) fn has_room(&self, now: u64, percent: u32) -> bool {
        self.turn(now);
        let sum = |counts: &[AtomicU64; 2]| counts.iter().map(|n| n.load(Relaxed)).sum::<u64>();
        let allowed = ALWAYS + sum(&self.fetches).saturating_mul(u64::from(percent)) / 100;
        sum(&self.retries) < allowed
    }

    /// Takes one retry.
    pub(crate) fn spend(&self) {
        let [current, _] = &self.retries;
        current.fetch_add(1, Relaxed);
    }

    fn turn(&self, now: u64) {
        let window = now / WINDOW;
        let before = self.window.load(Relaxed);
        if window <= before
            || self
                .window
                .compare_exchange(before, window, Relaxed, Relaxed)
                .is_err()
        {
            return;
        }
        for [current, previous] in [&self.fetches, &self.retries] {
            let counted = current.swap(0, Relaxed);
            previous.store(if window == before + 1 { counted } else { 0 }, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(budget: &Budget, now: u64) -> u64 {
        let left = (0..1_000).take_while(|_| budget.has_room(now, 20));
        left.map(|_| budget.spend()).count() as u64
    }

    #[test]
    fn allows_a_share_and_always_a_few() {
        let budget = Budget::default();
        assert_eq!(spent(&budget, 0), ALWAYS);
        (0..100).for_each(|_| budget.note(0));
        assert_eq!(spent(&budget, 0), 20);
        (0..100).for_each(|_| budget.note(WINDOW));
        assert_eq!(spent(&budget, WINDOW), 20, "the window before still counts");
        assert_eq!(
            spent(&budget, 2 * WINDOW),
            ALWAYS,
            "what was spent counts too"
        );
        assert_eq!(spent(&budget, 9 * WINDOW), ALWAYS, "all forgotten");
    }
}
