//! A hash table of records.

use super::{RecordPosition, Spot};

const SMALLEST: usize = 8;

/// Open addressing with linear probing; a removed record leaves no mark.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub slots: Vec<Spot>,
    pub used: usize,
}

impl Table {
    /// Where the search for `key` begins.
    fn home(&self, key: u64) -> usize {
        ((u128::from(key) * self.slots.len() as u128) >> 64) as usize
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 < self.slots.len() { at + 1 } else { 0 }
    }

    /// Calls `see` with each record of `key`, in no particular order.
    pub fn each(&mut self, key: u64, mut see: impl FnMut(&mut Spot)) {
        let mut at = self.home(key);
        while let Some(spot) = self.slots.get_mut(at).filter(|spot| !spot.is_empty()) {
            if spot.key == key {
                see(spot);
            }
            at = self.next(at);
        }
    }

    /// Adds a record, beside those of the same key. Grows the table if it gets too full.
    pub fn add(&mut self, new: Spot) {
        // At most seven eighths are used. So there is always an empty slot, at which every search ends.
        if (self.used + 1) * 8 > self.slots.len() * 7 {
            self.resize((self.slots.len() * 3 / 2).max(SMALLEST));
        }
        self.place(new);
    }

    fn place(&mut self, new: Spot) {
        let mut at = self.home(new.key);
        while self.slots.get(at).is_some_and(|spot| !spot.is_empty()) {
            at = self.next(at);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = new;
            self.used += 1;
        }
    }

    fn resize(&mut self, length: usize) {
        let old = std::mem::replace(&mut self.slots, vec![Spot::default(); length]);
        self.used = 0;
        for spot in old.into_iter().filter(|spot| !spot.is_empty()) {
            self.place(spot);
        }
    }

    /// Removes the record of `key` at `place`; `None` if there is none. Shrinks the table if less than half of it is
    /// used.
    pub fn remove(&mut self, key: u64, place: RecordPosition) -> Option<Spot> {
        let mut at = self.home(key);
        let removed = loop {
            let spot = self.slots.get(at).filter(|spot| !spot.is_empty())?;
            if spot.place == place {
                break *spot;
            }
            at = self.next(at);
        };
        self.close(at);
        self.used -= 1;
        if self.slots.len() > SMALLEST && self.used * 2 < self.slots.len() {
            self.resize((self.used * 4 / 3).max(SMALLEST));
        }
        Some(removed)
    }

    /// Empties the slot `hole`, and moves up the records that would not be found past it.
    fn close(&mut self, mut hole: usize) {
        let mut at = self.next(hole);
        while let Some(spot) = self.slots.get(at).filter(|spot| !spot.is_empty()).copied() {
            let from = self.home(spot.key);
            // Whether a search for it passes the hole, which then lies between its home and its slot.
            let passes = if from <= at {
                from <= hole && hole < at
            } else {
                from <= hole || hole < at
            };
            if passes && let Some(slot) = self.slots.get_mut(hole) {
                *slot = spot;
                hole = at;
            }
            at = self.next(at);
        }
        if let Some(slot) = self.slots.get_mut(hole) {
            *slot = Spot::default();
        }
    }
}
