//! Where records lie, by the hash of their key. A record takes 24 bytes, in tables that are at least half full unless
//! they are as small as tables get.

mod spot;
mod table;
#[cfg(test)]
mod tests;

use spot::{COUNTED, SOUND, USED};
use std::sync::{Mutex, MutexGuard, PoisonError};
use table::Table;

pub(super) use spot::{RecordPosition, Spot};

/// At most this many records are kept under one hash. The oldest makes room for one more.
const MOST: usize = 32;
const SHARDS: usize = 256;

/// The index. Shared by all workers.
#[derive(Debug)]
pub(super) struct Index {
    shards: Box<[Shard]>,
}

type Shard = Mutex<Table>;

impl Index {
    /// Creates an empty index.
    pub fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Returns every record under `key`, the latest first, and counts them as used.
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

    /// Whether there is a record under `key`. Counts all of them as used.
    pub fn use_all(&self, key: u64) -> bool {
        let mut knows = false;
        self.with(key, |table| {
            table.each(key, |spot| {
                spot.bits |= USED;
                knows = true;
            });
        });
        knows
    }

    /// Whether there is a record under `key`.
    pub fn knows(&self, key: u64) -> bool {
        let mut knows = false;
        self.with(key, |table| table.each(key, |_| knows = true));
        knows
    }

    /// The records of this variant under `key`.
    pub fn versions(&self, key: u64, variant: u32) -> Vec<Spot> {
        let mut found = Vec::new();
        self.with(key, |table| {
            table.each(key, |spot| {
                if spot.variant == variant {
                    found.push(*spot);
                }
            });
        });
        found
    }

    /// The record at `place`, if the index still has it.
    pub fn at(&self, key: u64, place: RecordPosition) -> Option<Spot> {
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

    /// Notes that the whole body of the record at `place` was verified.
    pub fn mark_sound(&self, key: u64, place: RecordPosition) {
        self.change(key, place, |spot| spot.bits |= SOUND);
    }

    /// Notes that the record at `place` was asked for.
    pub fn mark_used(&self, key: u64, place: RecordPosition) {
        self.change(key, place, |spot| spot.bits |= USED);
    }

    /// Notes that the tags of the record at `place` are counted. False if it is not there, or they were counted
    /// already.
    pub fn mark_counted(&self, key: u64, place: RecordPosition) -> bool {
        let mut counts = false;
        self.change(key, place, |spot| {
            counts = !spot.is_counted();
            spot.bits |= COUNTED;
        });
        counts
    }

    /// The reverse of [`mark_counted`](Self::mark_counted).
    pub fn unmark_counted(&self, key: u64, place: RecordPosition) -> bool {
        let mut counted = false;
        self.change(key, place, |spot| {
            counted = spot.is_counted();
            spot.bits &= !COUNTED;
        });
        counted
    }

    /// Changes the entry of the record at `place`, if it is there.
    fn change(&self, key: u64, place: RecordPosition, mut change: impl FnMut(&mut Spot)) {
        self.with(key, |table| {
            table.each(key, |spot| {
                if spot.place == place {
                    change(spot);
                }
            });
        });
    }

    /// The number of records under `key`.
    pub fn count(&self, key: u64) -> u64 {
        let mut count = 0;
        self.with(key, |table| table.each(key, |_| count += 1));
        count
    }

    /// Adds a record, unless a later one of the same variant is there. Returns the records that are no longer found, in
    /// whatever order they came.
    pub fn insert(&self, new: Spot) -> Vec<Spot> {
        self.with(new.key, |table| {
            let (mut forgotten, mut kept) = (Vec::new(), 0);
            let (mut is_old, mut oldest) = (false, new);
            table.each(new.key, |spot| {
                is_old |= spot.place >= new.place && spot.is_like(&new);
                if spot.place < new.place && new.is_like(spot) {
                    return forgotten.push(*spot);
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
                forgotten.push(oldest);
            }
            for spot in &forgotten {
                table.remove(spot.key, spot.place);
            }
            if forgotten.last() != Some(&new) {
                table.add(new);
            }
            forgotten
        })
    }

    /// Puts `new` in the place of the record at `from`, whose copy it is. Returns that record, or `new` if that one is not
    /// there: what was forgotten while it was copied does not come back.
    pub fn replace(&self, from: RecordPosition, new: Spot) -> Spot {
        self.with(new.key, |table| match table.remove(new.key, from) {
            Some(old) => {
                table.add(new);
                old
            }
            None => new,
        })
    }

    /// Removes the record at `place`, and returns it.
    pub fn remove(&self, key: u64, place: RecordPosition) -> Option<Spot> {
        self.with(key, |table| table.remove(key, place))
    }

    /// Removes every record of `segment`, without knowing which there are.
    pub fn remove_segment(&self, segment: u32) {
        for shard in &self.shards {
            let mut table = lock(shard);
            let of_it = |spot: &&Spot| !spot.is_empty() && spot.place.segment() == segment;
            let forgotten: Vec<Spot> = table.slots.iter().filter(of_it).copied().collect();
            for spot in forgotten {
                table.remove(spot.key, spot.place);
            }
        }
    }

    /// The number of records, and the bytes of memory that the tables take.
    pub fn size(&self) -> (u64, u64) {
        let tables = self.shards.iter().map(lock);
        tables.fold((0, size_of::<[Shard; SHARDS]>() as u64), |(n, b), table| {
            let bytes = table.slots.capacity() * size_of::<Spot>();
            (n + table.used as u64, b + bytes as u64)
        })
    }

    fn with<T>(&self, key: u64, act: impl FnOnce(&mut Table) -> T) -> T {
        // There are as many shards as a byte has values.
        match self.shards.get(usize::from(key as u8)) {
            Some(shard) => act(&mut lock(shard)),
            None => act(&mut Table::default()),
        }
    }
}

fn lock(shard: &Shard) -> MutexGuard<'_, Table> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
