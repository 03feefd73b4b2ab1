//! Limits log lines that could become a flood.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{SystemTime, UNIX_EPOCH},
};

/// Seconds between two lines of one kind.
const PAUSE: u64 = 10;

/// Lets a line through only now and then.
#[derive(Debug, Default)]
pub struct Seldom(AtomicU64);

impl Seldom {
    /// Whether it is time for another line.
    pub fn now(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        let last = self.0.load(Relaxed);
        now.abs_diff(last) >= PAUSE && self.0.compare_exchange(last, now, Relaxed, Relaxed).is_ok()
    }
}
