//! Whether purges on other nodes are known.

use super::Log;
use crate::purge::positions::Positions;
use rules::time::Time;
use std::sync::atomic::Ordering::{Acquire, Release};

impl Log {
    /// Notes that purges on other nodes may have been missed from now on. What is kept, and what is fetched until they
    /// are known again, is not used before the origin confirms it.
    pub fn distrust(&self) {
        let table = self.write();
        self.unsure.store(true, Release);
        self.advance(self.head());
        drop(table);
    }

    /// Notes that all purges on other nodes that were acknowledged before `until`, by the wall clock, are known.
    pub fn trust_until(&self, until: Time) {
        self.trusted_until.set(until);
    }

    /// To be called before anything kept is used at `now`. A process that was stopped, or a machine that was suspended,
    /// has heard nothing meanwhile, and what would [report that](Self::distrust) was asleep too.
    pub fn wake(&self, now: Time) {
        if self.trusted_until.is_over(now) && !self.is_unsure() {
            self.distrust();
        }
    }

    /// Notes that all purges on other nodes are known again.
    pub fn trust(&self) {
        let table = self.write();
        self.unsure.store(false, Release);
        self.advance(self.head());
        drop(table);
    }

    /// Notes that purges on other nodes were missed for good. Everything kept, here and in lower tiers, counts as
    /// purged, and so does what is being fetched. Entries of the shared log are unknown again.
    pub fn forget(&self) {
        let mut table = self.write();
        let sequence = self.head() + 1;
        table.forget(sequence);
        *self.positions() = Positions::default();
        if let Some(journal) = self.journal.get() {
            journal.retire(sequence);
        }
        self.recent.missed(sequence);
        self.advance(sequence);
    }

    /// Whether purges on other nodes may have been missed.
    pub fn is_unsure(&self) -> bool {
        self.unsure.load(Acquire)
    }
}
