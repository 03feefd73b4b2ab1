//! How many users there are at once; in an open loop, requests under way.

use super::Worker;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The users of all workers. Only when they come and go is it known how many there were at most: a point of the course
/// may be later than all of them.
#[derive(Debug, Default)]
pub(crate) struct Present {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Present {
    fn come(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        if now > self.most.load(Ordering::Relaxed) {
            self.most.fetch_max(now, Ordering::Relaxed);
        }
    }

    fn go(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the largest number so far.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Worker {
    /// Counts a user that comes.
    pub(super) fn come(&self) {
        self.users.set(self.users.get() + 1);
        self.common.present.come();
    }

    /// Counts one that goes.
    pub(super) fn go(&self) {
        self.users.set(self.users.get() - 1);
        self.common.present.go();
    }
}
