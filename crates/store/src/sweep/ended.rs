//! Sweeps that have ended, kept as long as what they went over must be remembered.

use std::{collections::VecDeque, time::Duration, time::Instant};

/// At most so many sweeps are kept, and two more. Of sweeps that end closer together, the last stays.
const MOST: u32 = 1000;

/// The heads of the log at which sweeps began, and when the sweeps ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// How long ago a sweep must have ended.
    ago: Duration,
    pub heads: VecDeque<(u64, Instant)>,
}

impl Ended {
    /// Makes an empty list, for sweeps that ended at least `ago`.
    pub const fn lasting(ago: Duration) -> Self {
        Self {
            ago,
            heads: VecDeque::new(),
        }
    }

    /// Notes that a sweep that began at `head` has ended. It replaces the last one if that came soon after the one
    /// before.
    pub fn note(&mut self, head: u64, at: Instant) {
        let mut latest = self.heads.iter().rev().map(|(_, at)| *at);
        if let (Some(last), Some(before)) = (latest.next(), latest.next())
            && last.duration_since(before) < self.ago / MOST
        {
            self.heads.pop_back();
        }
        self.heads.push_back((head, at));
    }

    /// Returns the head at which the last sweep began that ended long enough ago. Drops the sweeps that ended before
    /// that one.
    pub fn settled(&mut self, now: Instant) -> Option<u64> {
        let is_settled = |at: Instant| now.duration_since(at) >= self.ago;
        let settled = self.heads.partition_point(|(_, at)| is_settled(*at));
        self.heads.drain(..settled.saturating_sub(1));
        let (head, _) = self.heads.front().filter(|_| settled > 0)?;
        Some(*head)
    }

    /// Drops the sweeps that began at `head` or before.
    pub fn forget(&mut self, head: u64) {
        self.heads.retain(|(log_at, _)| *log_at > head);
    }
}
