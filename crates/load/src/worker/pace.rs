//! A limit on the rate, whatever the shape.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// How old a moment may be and still be used. Sleeps may end this late, because their clock has a step of a
/// millisecond.
const LATE: Duration = Duration::from_millis(5);

/// Hands out moments that are at least `step` apart.
#[derive(Debug)]
pub(super) struct Pace {
    step: Duration,
    next: Cell<Instant>,
}

impl Pace {
    /// Makes a pace of `rate` moments a second, the first after this share of a step. `None`: this is no rate.
    pub(super) fn new(rate: f64, begin: Instant, share: f64) -> Option<Self> {
        let step = Duration::try_from_secs_f64(1.0 / rate).ok()?;
        let next = Cell::new(begin.checked_add(step.mul_f64(share))?);
        Some(Self { step, next })
    }

    /// Returns the next moment, at most slightly before `now`. Unused moments are not made up for.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let earliest = now.checked_sub(LATE).unwrap_or(now);
        let moment = self.next.get().max(earliest);
        self.next.set(moment + self.step);
        moment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_that_ends_late_costs_no_rate() {
        let begin = Instant::now();
        let pace = Pace::new(5000.0, begin, 0.0).expect("a rate");
        let (mut now, mut asked) = (begin, 0);
        while now < begin + Duration::from_secs(1) {
            // A clock with steps of a millisecond.
            let moment = pace.next(now);
            if moment > now {
                let steps = (moment - begin).as_micros().div_ceil(1000) as u64;
                now = begin + Duration::from_millis(steps);
            }
            now += Duration::from_micros(20);
            asked += 1;
        }
        assert!((4950..=5050).contains(&asked), "{asked}");
    }

    #[test]
    fn what_was_not_used_for_long_is_not_caught_up_with() {
        let begin = Instant::now();
        let pace = Pace::new(1000.0, begin, 0.0).expect("a rate");
        let now = begin + Duration::from_secs(9);
        let at_once = (0..100).filter(|_| pace.next(now) <= now).count();
        assert!(at_once <= 6, "{at_once}");
    }
}
