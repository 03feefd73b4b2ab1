//! Limits the bytes that are written a second.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A bucket that holds what may be written in one second, and fills as fast.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Option<u64>,
    /// Bytes that may be written, and when the bucket was last filled.
    level: Mutex<(i64, Instant)>,
}

impl Bucket {
    /// Creates a full bucket. `rate` is in bytes a second; `None` bounds nothing.
    pub fn new(rate: Option<u64>, now: Instant) -> Self {
        Self {
            rate,
            level: Mutex::new((bytes(rate.unwrap_or(0)), now)),
        }
    }

    /// Takes `wanted` bytes. False if the bucket is empty. The last bytes taken may bring it below empty, so that what
    /// is larger than the bucket is written too.
    pub fn take(&self, wanted: u64, now: Instant) -> bool {
        let Some(rate) = self.rate else { return true };
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(level.1).as_nanos();
        let gained = passed.saturating_mul(u128::from(rate)) / 1_000_000_000;
        // Less than a byte is left for the next call.
        if gained > 0 {
            let gained = bytes(u64::try_from(gained).unwrap_or(u64::MAX));
            *level = (level.0.saturating_add(gained).min(bytes(rate)), now);
        }
        let has = level.0 > 0;
        if has {
            level.0 = level.0.saturating_sub(bytes(wanted));
        }
        has
    }

    /// Takes `spent` bytes for something that has begun, whatever is left.
    pub fn spend(&self, spent: u64) {
        if self.rate.is_some() {
            let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
            level.0 = level.0.saturating_sub(bytes(spent));
        }
    }
}

fn bytes(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_scan_is_cut_off_and_one_larger_than_the_bucket_is_not() {
        let now = Instant::now();
        let bucket = Bucket::new(Some(10), now);
        assert!(bucket.take(1_000_000, now));
        assert!(!bucket.take(1, now));
        assert!(Bucket::new(None, now).take(u64::MAX, now));
        let none = Bucket::new(Some(0), now);
        assert!(!none.take(1, now + Duration::from_hours(1)));
    }

    #[test]
    fn a_minute_takes_what_the_rate_gives() {
        const RATE: u64 = 1_000_000;
        const ONE: u64 = 7_000;
        // A caller that always wants more, after a time without any. How often it tries does not matter.
        for (step, least) in [(700, 60), (1_900, 60), (40_000, 60), (3_000_000, 20)] {
            let begun = Instant::now();
            let bucket = Bucket::new(Some(RATE), begun);
            let mut taken = 0;
            for passed in (100_000_000..=160_000_000).step_by(step) {
                while bucket.take(ONE, begun + Duration::from_micros(passed)) {
                    taken += ONE;
                }
            }
            let allowed = least * RATE..=61 * RATE + ONE;
            assert!(allowed.contains(&taken), "every {step} us: {taken}");
        }
    }

    #[test]
    fn what_has_begun_is_paid_back() {
        let begun = Instant::now();
        let bucket = Bucket::new(Some(1000), begun);
        bucket.spend(4000);
        assert!(!bucket.take(1, begun + Duration::from_secs(3)));
        assert!(bucket.take(1, begun + Duration::from_millis(3001)));
    }
}
