//! Counters of what was made, for metrics. None is written on the path of a hit on a form.

use rules::coding::Coding;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use store::Level;

/// The levels, in the order of [`Counts::made`].
pub const LEVELS: [&str; 2] = ["fast", "high"];

/// Counters of all workers and threads together. Arrays are by coding, in the order of [`Coding::ALL`].
#[derive(Debug, Default)]
pub struct Counts {
    /// Forms that were made and kept, by [`LEVELS`].
    pub made: [[AtomicU64; 2]; 3],
    /// Bodies coded for one client only, since they are not stored, and forms that could not be kept.
    pub passed: [AtomicU64; 3],
    /// Bytes that went into encoders.
    pub taken: [AtomicU64; 3],
    /// Bytes that came out of encoders.
    pub given: [AtomicU64; 3],
    /// Time spent on forms, in microseconds.
    pub time_us: [AtomicU64; 3],
    /// Bodies decoded for clients that do not accept their coding.
    pub decoded: AtomicU64,
    /// Forms that were worth making and were not made, since too much waited already or memory had no room. The content
    /// was sent as it is.
    pub refused: AtomicU64,
}

/// The values of [`Counts`] at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// As [`Counts::made`].
    pub made: [[u64; 2]; 3],
    /// As [`Counts::passed`].
    pub passed: [u64; 3],
    /// As [`Counts::taken`].
    pub taken: [u64; 3],
    /// As [`Counts::given`].
    pub given: [u64; 3],
    /// As [`Counts::time_us`].
    pub time_us: [u64; 3],
    /// As [`Counts::decoded`].
    pub decoded: u64,
    /// As [`Counts::refused`].
    pub refused: u64,
}

impl Counts {
    /// The current values.
    pub fn figures(&self) -> Figures {
        let each = |counters: &[AtomicU64; 3]| counters.each_ref().map(|one| one.load(Relaxed));
        let made = self.made.each_ref();
        Figures {
            made: made.map(|levels| levels.each_ref().map(|one| one.load(Relaxed))),
            passed: each(&self.passed),
            taken: each(&self.taken),
            given: each(&self.given),
            time_us: each(&self.time_us),
            decoded: self.decoded.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }

    /// Counts a form that was made.
    pub(crate) fn made(&self, coding: Coding, level: Level, sizes: (u64, u64), took: Duration) {
        let level = usize::from(level == Level::High);
        let levels = self.made.get(coding.index());
        if let Some(made) = levels.and_then(|levels| levels.get(level)) {
            made.fetch_add(1, Relaxed);
        }
        add(&self.time_us, coding, took.as_micros() as u64);
        self.coded(coding, sizes);
    }

    /// Counts the bytes that an encoder took and gave.
    pub(crate) fn coded(&self, coding: Coding, (taken, given): (u64, u64)) {
        add(&self.taken, coding, taken);
        add(&self.given, coding, given);
    }

    /// Counts a body that is coded without being kept.
    pub(crate) fn pass(&self, coding: Coding) {
        add(&self.passed, coding, 1);
    }
}

fn add(counters: &[AtomicU64; 3], coding: Coding, more: u64) {
    if let Some(counter) = counters.get(coding.index()) {
        counter.fetch_add(more, Relaxed);
    }
}
