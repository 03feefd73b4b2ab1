//! How much room there is, and how much of it is taken.

use super::{Memory, capacity, largest_body};
use crate::Budget;
use std::sync::{Arc, PoisonError, atomic::Ordering::Relaxed};

/// A snapshot for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Cache keys held.
    pub keys: u64,
    /// Bytes they take.
    pub stored: u64,
    /// Bytes of fills in flight, of what passes unstored, and of what clients read that is not stored any more.
    pub in_flight: u64,
    /// The budget.
    pub limit: u64,
    /// Entries evicted for room since the start.
    pub evictions: u64,
}

impl Memory {
    /// The bytes in flight. At most half the limit for what is to be stored: beyond it responses pass through unstored. What clients still
    /// read that is not stored any more, or never was, counts too, and may take more than that: of the room for what is stored.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Whether what is in flight takes all of the budget: nothing more should begin to pass through.
    pub fn is_exhausted(&self) -> bool {
        self.budget.reserved() >= self.limit
    }

    /// The largest body that has a chance to be kept.
    pub fn largest_body(&self) -> u64 {
        largest_body(self.limit)
    }

    /// Whether there is room now for a body of `length` bytes under `key`, of which so many are `missing` yet. What else is in flight by the
    /// time it has come may change that.
    pub fn has_room(&self, key: &[u8], length: u64, missing: u64) -> bool {
        let in_flight = self.budget.reserved().saturating_add(missing);
        length <= self.heaviest(key) && in_flight <= self.budget.limit()
    }

    /// A snapshot for metrics.
    pub fn statistics(&self) -> Statistics {
        self.evictions.leaving.look();
        Statistics {
            keys: self.entries.len() as u64,
            stored: self.entries.weight() + self.log.tags().unweighed(),
            in_flight: self.budget.reserved(),
            limit: self.limit,
            evictions: self.evictions.count.load(Relaxed),
        }
    }

    /// Lowers or raises what may be stored by what is in flight, or is read and not stored any more, and by tags that are weighed with
    /// no stored response, in [steps](capacity). To be called when bytes in flight were reserved; what is stored or forgotten does so
    /// itself. A few loads where no step was crossed.
    pub fn make_room(&self) {
        self.evictions.leaving.look();
        if self.capacity.load(Relaxed) == self.room() {
            return;
        }
        // One at a time: of two, the one that looked first must not have the last word.
        let _one = self.resizing.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.room();
        if self.capacity.swap(wanted, Relaxed) != wanted {
            capacity::change(&self.entries, self.steps.most(), wanted);
        }
    }

    /// What may be stored now.
    fn room(&self) -> u64 {
        let taken = self.budget.reserved() + self.log.tags().unweighed();
        self.steps.beside(taken)
    }

    pub(super) fn shards(&self) -> u64 {
        self.entries.num_shards() as u64
    }
}
