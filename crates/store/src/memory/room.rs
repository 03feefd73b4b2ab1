//! How much room there is, and how much of it is taken.

use super::{Memory, capacity, largest_body, leaving};
use crate::{Body, Budget, Reservation, Stored};
use std::sync::{Arc, PoisonError, atomic::Ordering::Relaxed};

/// A response up to this weight, in bytes, may take the last of the budget until its body is here.
const SHORT: u64 = 4 * 1024;

/// A snapshot for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Cache keys held.
    pub keys: u64,
    /// The bytes that they take.
    pub stored: u64,
    /// The bytes of fills in flight, of what passes unstored, and of what clients still read that is no longer stored.
    pub in_flight: u64,
    /// The tier's limit in bytes, for what is stored and what is in flight.
    pub limit: u64,
    /// Entries evicted to make room since the start.
    pub evictions: u64,
}

impl Memory {
    /// The bytes in flight. At most half of the limit is for what is to be stored: beyond that, responses pass through
    /// unstored. What clients still read and is not stored, or never was, counts too. It may take more than half, from
    /// the room for stored responses.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Whether what is in flight takes all of the budget, so that no other answer should begin to pass through.
    pub fn is_exhausted(&self) -> bool {
        self.budget.reserved() >= self.limit
    }

    /// Room for a response that has left and is held, as optional work; `None` if memory is short. Its large bodies
    /// count already, as what is read and not stored any more does.
    pub fn room_for_left(&self, left: &Stored) -> Option<Reservation> {
        let mut room = self.budget.reservation();
        let counted: u64 = leaving::tracked(left).map(Body::weight).sum();
        let rest = left.weight().saturating_sub(counted);
        room.grow_sparing(rest).then_some(room)
    }

    /// Room for a response whose body is on its way, beside what that takes: until it is here, the response is not
    /// evicted. `None` if there is none. One with a large head leaves a quarter to others.
    pub fn room_for_coming(&self, coming: &Stored) -> Option<Reservation> {
        let mut room = self.budget.reservation();
        let weight = coming.weight();
        let fits = if weight <= SHORT {
            room.grow(weight)
        } else {
            room.grow_sparing(weight)
        };
        fits.then_some(room)
    }

    /// The largest body that may be kept.
    pub fn largest_body(&self) -> u64 {
        largest_body(self.limit)
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

    /// Adjusts what may be stored, in [steps](capacity): less by what is in flight, by what is no longer stored and
    /// still read, and by tags that are weighed with no stored response.
    ///
    /// To be called when bytes in flight were reserved; storing and forgetting call it themselves. A few loads if no
    /// step was crossed.
    pub fn make_room(&self) {
        self.evictions.leaving.look();
        if self.capacity.load(Relaxed) == self.room() {
            return;
        }
        // One task at a time: otherwise the one that looked first could set the capacity last.
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
