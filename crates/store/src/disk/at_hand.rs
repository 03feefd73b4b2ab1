//! When a body was last seen in the page cache.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Seconds for which bytes that were seen in the page cache are believed to be there still.
pub(super) const AT_HAND_SECONDS: u32 = 2;

/// When all of a body was last seen in the page cache, by [`Device::seconds`](super::device::Device::seconds). 0: not
/// looked at yet.
#[derive(Debug, Default)]
pub(super) struct AtHand(AtomicU32);

impl AtHand {
    /// Whether it was seen less than [`AT_HAND_SECONDS`] ago.
    pub fn is_fresh(&self, now: u32) -> bool {
        let seen = self.0.load(Relaxed);
        seen != 0 && now.saturating_sub(seen) < AT_HAND_SECONDS
    }

    /// Notes that it was seen at `second`. Returns whether it had been seen before.
    pub fn see(&self, second: u32) -> bool {
        self.0.swap(second, Relaxed) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_believed_for_a_moment() {
        let seen = AtHand::default();
        assert!(!seen.is_fresh(1));
        assert!(!seen.see(7));
        assert!(seen.is_fresh(7) && seen.is_fresh(8));
        assert!(!seen.is_fresh(7 + AT_HAND_SECONDS));
        assert!(seen.see(9), "again");
    }
}
