//! How many bytes may be written a second.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A bucket that holds what may be written in one second, and fills as fast.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Option<u64>,
    /// Bytes that may be written, and when it was filled last.
    level: Mutex<(i64, Instant)>,
}

impl Bucket {
    pub fn new(rate: Option<u64>) -> Self {
        Self {
            rate,
            level: Mutex::new((bytes(rate.unwrap_or(0)), Instant::now())),
        }
    }

    /// Takes so many bytes. False where the bucket is empty; the last that is taken may take it below empty, so that what is
    /// larger than the bucket is written too.
    pub fn take(&self, wanted: u64) -> bool {
        let Some(rate) = self.rate else { return true };
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if level.0 <= 0 {
            let now = Instant::now();
            let passed = now.saturating_duration_since(level.1).as_millis();
            let gained = passed.saturating_mul(u128::from(rate)) / 1000;
            // Less than a byte is left to the next.
            if gained > 0 {
                let gained = bytes(u64::try_from(gained).unwrap_or(u64::MAX));
                *level = (level.0.saturating_add(gained).min(bytes(rate)), now);
            }
        }
        let has = level.0 > 0;
        if has {
            level.0 = level.0.saturating_sub(bytes(wanted));
        }
        has
    }

    /// Takes so many bytes of something that has begun, whatever is left.
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

    #[test]
    fn a_scan_is_cut_off_and_one_larger_than_the_bucket_is_not() {
        let bucket = Bucket::new(Some(10));
        assert!(bucket.take(1_000_000));
        assert!(!bucket.take(1));
        assert!(Bucket::new(None).take(u64::MAX));
        let none = Bucket::new(Some(0));
        assert!(!none.take(1));
    }
}
