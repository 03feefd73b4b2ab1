//! A histogram of how long an origin took.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds of the histogram, in milliseconds. The last bucket is open.
pub const BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000];

/// Counts since the configuration was loaded, by all workers together.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    buckets: [AtomicU64; BOUNDS_MS.len() + 1],
    sum_us: AtomicU64,
}

/// The histogram at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Fetches by [`BOUNDS_MS`], and those beyond.
    pub buckets: [u64; BOUNDS_MS.len() + 1],
    /// The time of all fetches together.
    pub sum: Duration,
}

impl Counts {
    /// Counts one fetch, which took this long until its final head or its failure.
    pub(crate) fn count(&self, took: Duration) {
        let index = BOUNDS_MS.partition_point(|bound| u128::from(*bound) < took.as_millis());
        if let Some(bucket) = self.buckets.get(index) {
            bucket.fetch_add(1, Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.sum_us.fetch_add(micros, Relaxed);
    }

    pub(crate) fn read(&self) -> Latency {
        let mut buckets = [0; BOUNDS_MS.len() + 1];
        for (into, from) in buckets.iter_mut().zip(&self.buckets) {
            *into = from.load(Relaxed);
        }
        let sum = Duration::from_micros(self.sum_us.load(Relaxed));
        Latency { buckets, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_the_bucket_whose_bound_they_do_not_pass() {
        let counts = Counts::default();
        for millis in [0, 1, 2, 3, 10_000, 10_001] {
            counts.count(Duration::from_millis(millis));
        }
        let seen = counts.read();
        assert_eq!(seen.buckets, [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(seen.sum, Duration::from_millis(20_007));
    }
}
