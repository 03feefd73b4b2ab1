//! A bound on the rate, whatever the shape.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Gives out moments that lie at least `step` apart.
#[derive(Debug)]
pub(super) struct Pace {
    step: Duration,
    next: Cell<Instant>,
}

impl Pace {
    /// So many moments a second, the first after this share of a step; `None` where that is no rate.
    pub(super) fn new(rate: f64, begin: Instant, share: f64) -> Option<Self> {
        let step = Duration::try_from_secs_f64(1.0 / rate).ok()?;
        let next = Cell::new(begin.checked_add(step.mul_f64(share))?);
        Some(Self { step, next })
    }

    /// The next moment, at `now` at the earliest. What was not used is not caught up with.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let moment = self.next.get().max(now);
        self.next.set(moment + self.step);
        moment
    }
}
