//! Sweeps that have ended, for as long as what they went over must be remembered.

use std::{collections::VecDeque, time::Duration, time::Instant};

/// So many are kept at most, but for two: of those that end sooner after another the last stays.
const MOST: u32 = 1000;

/// Heads of the log at which sweeps began, and when they ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// How long ago a sweep must have ended.
    ago: Duration,
    pub heads: VecDeque<(u64, Instant)>,
}

impl Ended {
    /// None yet; asked for are those that ended `ago`.
    pub const fn lasting(ago: Duration) -> Self {
        Self {
            ago,
            heads: VecDeque::new(),
        }
    }

    /// One that began at `head` has ended. It takes the place of the last, where that came soon after the one before.
    pub fn note(&mut self, head: u64, at: Instant) {
        let mut latest = self.heads.iter().rev().map(|(_, at)| *at);
        if let (Some(last), Some(before)) = (latest.next(), latest.next())
            && last.duration_since(before) < self.ago / MOST
        {
            self.heads.pop_back();
        }
        self.heads.push_back((head, at));
    }

    /// The head at which the last one began that ended long enough ago. What ended before that is let go.
    pub fn settled(&mut self, now: Instant) -> Option<u64> {
        let is_settled = |at: Instant| now.duration_since(at) >= self.ago;
        let settled = self.heads.partition_point(|(_, at)| is_settled(*at));
        self.heads.drain(..settled.saturating_sub(1));
        let (head, _) = self.heads.front().filter(|_| settled > 0)?;
        Some(*head)
    }

    /// Lets those go that began at `head` or before.
    pub fn forget(&mut self, head: u64) {
        self.heads.retain(|(log_at, _)| *log_at > head);
    }
}
