//! What is in flight, counted: fills, parts, the memory of encoders and decoders, and what passes unstored.
//!
//! It shares one number of bytes with what is stored: the limit of [`Memory`](crate::Memory), of which a [`Budget`] may
//! reserve half. [`Memory::make_room`](crate::Memory::make_room) lowers the tier's own capacity by the bytes that are
//! reserved here, rounded up to a step, so that the sum stays within that limit.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Counts bytes in flight against a limit. Shared by all workers.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    reserved: AtomicU64,
}

impl Budget {
    /// Creates a budget of which at most `limit` bytes may be reserved at any moment.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            reserved: AtomicU64::new(0),
        })
    }

    /// Bytes reserved now.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Relaxed)
    }

    /// Bytes that may be reserved at any moment.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether so much is in flight that no more than necessary should be read at once. Optional work has no room left.
    pub fn is_short(&self) -> bool {
        self.reserved() > self.sparing()
    }

    /// Whether more is in flight than may be.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.reserved() > self.limit
    }

    /// The limit for optional work: a quarter is left to others.
    const fn sparing(&self) -> u64 {
        self.limit - self.limit / 4
    }

    /// Creates an empty reservation, to be grown.
    pub fn reservation(self: &Arc<Self>) -> Reservation {
        Reservation {
            budget: self.clone(),
            bytes: 0,
        }
    }
}

/// Bytes that are held of a budget. They are given back when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Reservation {
    /// Takes `bytes` more. False, with nothing taken, if that would exceed the limit.
    #[must_use]
    pub fn grow(&mut self, bytes: u64) -> bool {
        self.grow_within(self.budget.limit, bytes)
    }

    /// Like [`grow`](Self::grow), for optional work: a quarter of the limit is left to others.
    #[must_use]
    pub fn grow_sparing(&mut self, bytes: u64) -> bool {
        self.grow_within(self.budget.sparing(), bytes)
    }

    /// Like [`grow`](Self::grow), for what can be had elsewhere, and for as long as another server likes: half of the
    /// limit is left to others.
    #[must_use]
    pub fn grow_by_half(&mut self, bytes: u64) -> bool {
        self.grow_within(self.budget.limit / 2, bytes)
    }

    /// Takes `bytes` more, whether or not there is room: the bytes are in memory already.
    pub fn take(&mut self, bytes: u64) {
        self.budget.reserved.fetch_add(bytes, Relaxed);
        self.bytes += bytes;
    }

    /// Holds exactly `bytes` from now on, whether or not there is room.
    pub fn hold(&mut self, bytes: u64) {
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => self.take(more),
            None => self.shrink_to(bytes),
        }
    }

    /// Creates an empty reservation of the same budget.
    pub(crate) fn another(&self) -> Self {
        self.budget.reservation()
    }

    /// The budget of which it holds a part.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    fn grow_within(&mut self, limit: u64, bytes: u64) -> bool {
        let taken = self.budget.reserved.fetch_update(Relaxed, Relaxed, |now| {
            now.checked_add(bytes)
                .filter(|sum| *sum <= limit || bytes == 0)
        });
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }

    /// Bytes that it holds.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives back what it holds beyond `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let over = self.bytes.saturating_sub(bytes);
        if over > 0 {
            self.budget.reserved.fetch_sub(over, Relaxed);
            self.bytes -= over;
        }
    }

    /// Gives everything back.
    pub fn release(&mut self) {
        self.shrink_to(0);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_hard_and_drops_give_back() {
        let budget = Budget::new(100);
        let mut one = budget.reservation();
        assert!(one.grow(60));
        let mut two = budget.reservation();
        assert!(!two.grow(41));
        assert!(two.grow(40));
        drop(one);
        assert_eq!(budget.reserved(), 40);
        two.shrink_to(30);
        assert_eq!(budget.reserved(), 30);
        two.hold(120);
        assert_eq!((two.bytes(), budget.reserved()), (120, 120));
        two.hold(20);
        assert_eq!((two.bytes(), budget.reserved()), (20, 20));
        two.release();
        assert_eq!(budget.reserved(), 0);
    }

    #[test]
    fn it_is_short_before_the_limit_is_reached() {
        let budget = Budget::new(100);
        let mut one = budget.reservation();
        one.hold(75);
        assert!(!budget.is_short());
        one.hold(76);
        assert!(budget.is_short());
    }

    #[test]
    fn what_can_be_done_without_leaves_a_quarter() {
        let budget = Budget::new(100);
        let mut one = budget.reservation();
        assert!(!one.grow_sparing(76) && one.grow_sparing(75));
        let mut two = budget.reservation();
        assert!(!two.grow_sparing(1) && two.grow_sparing(0) && two.grow(25));
        assert_eq!((one.bytes(), two.bytes()), (75, 25));
    }
}
