//! How busy a worker was.

use std::time::Duration;

/// Share of its core from which a worker has no time left.
pub(crate) const FULL: f64 = 0.95;

/// How busy a worker was, by its slices. What it does after the last one is no load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    pub cpu: Duration,
    pub waited: Duration,
    end: Duration,
    /// How long it used all of its core.
    pub full: Duration,
}

impl Busy {
    /// Counts a span that ended at `end`, since the beginning of the run.
    pub fn count(&mut self, cpu: Duration, waited: Duration, end: Duration) {
        let length = end.saturating_sub(self.end);
        if cpu >= length.mul_f64(FULL) {
            self.full += length;
        }
        self.cpu += cpu;
        self.waited += waited;
        self.end = end;
    }

    /// Returns `of` as a share of the worker's time.
    pub fn share(self, of: Duration) -> f64 {
        of.as_secs_f64() / self.end.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_which_a_worker_has_nothing_left() {
        let mut worker = Busy::default();
        let ms = Duration::from_millis;
        // CPU time, waiting time, and end of each span. One span is longer than the others.
        for (cpu, waited, end) in [
            (100, 0, 250),
            (240, 0, 500),
            (100, 150, 750),
            (500, 0, 1250),
        ] {
            worker.count(ms(cpu), ms(waited), ms(end));
        }
        assert_eq!((worker.full, worker.end), (ms(750), ms(1250)));
        assert!((worker.share(worker.full) - 0.6).abs() < 1e-9);
        assert_eq!((worker.cpu, worker.waited), (ms(940), ms(150)));
    }
}
