//! Where records lie, by the hash of their key: 24 bytes each, in tables that are never less than half full.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The variant of a response that answers any request.
pub(super) const NO_VARIANT: u32 = 0;
/// At most this many records under one hash; beyond it the oldest goes.
const MOST: usize = 32;
const SHARDS: usize = 256;
const SMALLEST: usize = 8;

const USED: u32 = 1 << 31;
const LARGE: u32 = 1 << 30;
const SOUND: u32 = 1 << 29;
/// The rest is the size.
const FLAGS: u32 = USED | LARGE | SOUND;

/// Where a record begins: its segment, and the offset there. A later record has a greater place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Place(u64);

impl Place {
    pub const fn new(segment: u32, unit: u32) -> Self {
        Self((segment as u64) << 32 | unit as u64)
    }

    pub const fn segment(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The offset in bytes.
    pub const fn offset(self) -> u64 {
        (self.0 & u32::MAX as u64) * super::format::ALIGN
    }
}

/// One record. Segments are counted from one, so that no place is zero: that is an empty slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub key: u64,
    pub place: Place,
    pub variant: u32,
    /// The size, and three flags.
    bits: u32,
}

impl Spot {
    pub fn new(key: u64, place: Place, variant: u32, size: u32, is_large: bool) -> Self {
        let flag = if is_large { LARGE } else { 0 };
        Self {
            key,
            place,
            variant,
            bits: size & !FLAGS | flag,
        }
    }

    /// Bytes of the record.
    pub fn size(&self) -> usize {
        (self.bits & !FLAGS) as usize
    }

    /// Whether its body has a file of its own.
    pub fn is_large(&self) -> bool {
        self.bits & LARGE != 0
    }

    /// Whether it was asked for since it was written.
    pub fn is_used(&self) -> bool {
        self.bits & USED != 0
    }

    /// Whether all of its body was verified since the program started.
    pub fn is_sound(&self) -> bool {
        self.bits & SOUND != 0
    }

    fn is_empty(&self) -> bool {
        self.place == Place(0)
    }

    /// Whether this answers every request that `other` answers.
    fn covers(&self, other: &Self) -> bool {
        self.variant == NO_VARIANT || self.variant == other.variant
    }
}

/// The index. Shared by all workers.
#[derive(Debug)]
pub(super) struct Index {
    shards: Box<[Shard]>,
}

type Shard = Mutex<Table>;

impl Index {
    pub fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Every record under `key`, the latest first; they count as used.
    pub fn find(&self, key: u64) -> Vec<Spot> {
        let mut found = Vec::new();
        self.with(key, |table| {
            table.each(key, |spot| {
                spot.bits |= USED;
                found.push(*spot);
            });
        });
        found.sort_unstable_by_key(|spot| std::cmp::Reverse(spot.place));
        found
    }

    /// Whether there is a record under `key`.
    pub fn knows(&self, key: u64) -> bool {
        let mut knows = false;
        self.with(key, |table| table.each(key, |_| knows = true));
        knows
    }

    /// The record at `place`, if it is still the one to be found there.
    pub fn at(&self, key: u64, place: Place) -> Option<Spot> {
        let mut found = None;
        self.with(key, |table| {
            table.each(key, |spot| {
                if spot.place == place {
                    found = Some(*spot);
                }
            });
        });
        found
    }

    /// All of the body of the record at `place` was verified.
    pub fn mark_sound(&self, key: u64, place: Place) {
        self.with(key, |table| {
            table.each(key, |spot| {
                if spot.place == place {
                    spot.bits |= SOUND;
                }
            });
        });
    }

    /// The record at `place` was asked for.
    pub fn mark_used(&self, key: u64, place: Place) {
        self.with(key, |table| {
            table.each(key, |spot| {
                if spot.place == place {
                    spot.bits |= USED;
                }
            });
        });
    }

    /// Adds a record, unless a later one covers it. Returns those that are not found any more, in whatever order they came.
    pub fn insert(&self, new: Spot) -> Vec<Spot> {
        self.with(new.key, |table| {
            let (mut gone, mut kept) = (Vec::new(), 0);
            let (mut is_old, mut oldest) = (false, new);
            table.each(new.key, |spot| {
                is_old |= spot.place >= new.place && spot.covers(&new);
                if spot.place < new.place && new.covers(spot) {
                    return gone.push(*spot);
                }
                kept += 1;
                if spot.place < oldest.place {
                    oldest = *spot;
                }
            });
            if is_old {
                return vec![new];
            }
            if kept >= MOST {
                gone.push(oldest);
            }
            for spot in &gone {
                table.remove(spot.key, spot.place);
            }
            if gone.last() != Some(&new) {
                table.add(new);
            }
            gone
        })
    }

    /// Forgets the record at `place`; what it was.
    pub fn remove(&self, key: u64, place: Place) -> Option<Spot> {
        self.with(key, |table| table.remove(key, place))
    }

    /// Forgets every record of `segment`, without knowing which there are.
    pub fn remove_segment(&self, segment: u32) {
        for shard in &self.shards {
            let mut table = lock(shard);
            let of_it = |spot: &&Spot| !spot.is_empty() && spot.place.segment() == segment;
            let gone: Vec<Spot> = table.slots.iter().filter(of_it).copied().collect();
            for spot in gone {
                table.remove(spot.key, spot.place);
            }
        }
    }

    /// Records, and bytes of memory that the tables take.
    pub fn size(&self) -> (u64, u64) {
        let tables = self.shards.iter().map(lock);
        tables.fold((0, size_of::<[Shard; SHARDS]>() as u64), |(n, b), table| {
            let bytes = table.slots.capacity() * size_of::<Spot>();
            (n + table.used as u64, b + bytes as u64)
        })
    }

    fn with<T>(&self, key: u64, act: impl FnOnce(&mut Table) -> T) -> T {
        // There are as many as a byte has values.
        match self.shards.get(usize::from(key as u8)) {
            Some(shard) => act(&mut lock(shard)),
            None => act(&mut Table::default()),
        }
    }
}

fn lock(shard: &Shard) -> MutexGuard<'_, Table> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Open addressing with linear probing; a removed record leaves no mark.
#[derive(Debug, Default)]
struct Table {
    slots: Vec<Spot>,
    used: usize,
}

impl Table {
    /// Where the search for `key` begins.
    fn home(&self, key: u64) -> usize {
        ((u128::from(key) * self.slots.len() as u128) >> 64) as usize
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 < self.slots.len() { at + 1 } else { 0 }
    }

    fn each(&mut self, key: u64, mut see: impl FnMut(&mut Spot)) {
        let mut at = self.home(key);
        while let Some(spot) = self.slots.get_mut(at).filter(|spot| !spot.is_empty()) {
            if spot.key == key {
                see(spot);
            }
            at = self.next(at);
        }
    }

    fn add(&mut self, new: Spot) {
        // At most seven eighths: there is always an empty slot, at which every search ends.
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

    fn remove(&mut self, key: u64, place: Place) -> Option<Spot> {
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

    /// Empties the slot `hole` and moves up what would not be found past it.
    fn close(&mut self, mut hole: usize) {
        let mut at = self.next(hole);
        while let Some(spot) = self.slots.get(at).filter(|spot| !spot.is_empty()).copied() {
            let from = self.home(spot.key);
            // Whether its search passes the hole: the hole lies in the round from its home to where it is.
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

#[cfg(test)]
mod tests;
