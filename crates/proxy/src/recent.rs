//! Keys of which something was recently learnt: hit-for-miss (their answers were not reusable), and responses that were
//! fetched once and may be worth a place on disk.
//!
//! A fixed table without locks. A slot holds the upper bits of a key's hash, a note, and the second until which the key
//! counts. Keys in the same slot replace each other: a forgotten key only costs a collapse in vain.

use rules::time::Time;
use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The number of bits of a slot that hold the second.
const TIME_BITS: u32 = 32;

/// The number of bits of a slot below those of the hash, for the second and the note.
const LOW_BITS: u32 = TIME_BITS + 8;

/// The table. Shared by all workers.
#[derive(Debug)]
pub struct RecentKeys {
    /// How long a key stays known.
    seconds: u64,
    slots: Box<[AtomicU64]>,
    /// Secret, so that nobody can make keys that fall into one slot.
    seed: u64,
}

impl RecentKeys {
    /// Creates an empty table in which keys stay known for `seconds`. `slots` is rounded up to a power of two; each
    /// slot has eight bytes.
    pub fn lasting(seconds: u64, slots: usize) -> Self {
        let slots = slots.next_power_of_two();
        Self {
            seconds,
            slots: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            seed: RandomState::new().hash_one(()),
        }
    }

    /// Remembers `key` for a while, with a note.
    pub fn remember(&self, key: &[u8], note: u8, now: Time) {
        let until = (now.as_secs() + self.seconds) & u64::from(u32::MAX);
        self.put(key, note, until);
    }

    /// Keeps a note of `key`, which does not count as known.
    pub fn note(&self, key: &[u8], note: u8) {
        self.put(key, note, 0);
    }

    /// Forgets `key`.
    pub fn forget(&self, key: &[u8]) {
        let (slot, mark) = self.place(key);
        if slot.load(Relaxed) >> LOW_BITS == mark {
            slot.store(0, Relaxed);
        }
    }

    /// Whether `key` is remembered. It is not if `now` is before the time when it was: then the clock was set back, and
    /// the key would stay known for that much longer. So a request that has waited for others must pass the current
    /// time, not the time when it came.
    pub fn knows(&self, key: &[u8], now: Time) -> bool {
        let (slot, mark) = self.place(key);
        let held = slot.load(Relaxed);
        let left = u64::from((held as u32).wrapping_sub(now.as_secs() as u32));
        held >> LOW_BITS == mark && (1..=self.seconds).contains(&left)
    }

    /// Returns the last note of `key`, however old.
    pub fn noted(&self, key: &[u8]) -> Option<u8> {
        let (slot, mark) = self.place(key);
        let held = slot.load(Relaxed);
        (held >> LOW_BITS == mark).then_some((held >> TIME_BITS) as u8)
    }

    fn put(&self, key: &[u8], note: u8, until: u64) {
        let (slot, mark) = self.place(key);
        let note = u64::from(note) << TIME_BITS;
        slot.store(mark << LOW_BITS | note | until, Relaxed);
    }

    /// Returns the slot of `key`, and the bits of its hash that tell it from other keys there.
    #[allow(
        clippy::indexing_slicing,
        reason = "no index is greater than the last, whose bits are all ones"
    )]
    fn place(&self, key: &[u8]) -> (&AtomicU64, u64) {
        let hash = xxh3_64_with_seed(key, self.seed);
        let last = self.slots.len() - 1;
        (&self.slots[hash as usize & last], hash >> LOW_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: u64 = 10;

    #[test]
    fn a_key_is_known_for_a_while_and_no_longer() {
        let table = RecentKeys::lasting(SECONDS, 1 << 16);
        let now = Time::from_secs(1_000_000);
        table.remember(b"k", 1, now);
        assert!(table.knows(b"k", Time::from_secs(1_000_000 + SECONDS - 1)));
        assert!(!table.knows(b"k", Time::from_secs(1_000_000 + SECONDS)));
        assert!(!table.knows(b"other", now));
        table.remember(b"k", 1, Time::from_secs(1_000_005));
        assert!(table.knows(b"k", Time::from_secs(1_000_005 + SECONDS - 1)));
        table.forget(b"k");
        assert!(!table.knows(b"k", now));
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_key_known_for_longer() {
        const NOW: u64 = 1_000_000;
        let table = RecentKeys::lasting(SECONDS, 1 << 16);
        for (at, known) in [
            (NOW, true),
            (NOW - 1, false),
            (NOW - SECONDS, false),
            (NOW - 86_400, false),
            (NOW + SECONDS - 1, true),
        ] {
            table.remember(b"k", 1, Time::from_secs(NOW));
            assert_eq!(table.knows(b"k", Time::from_secs(at)), known, "{at}");
        }
        table.remember(b"k", 1, Time::from_secs(NOW - 86_400));
        assert!(table.knows(b"k", Time::from_secs(NOW - 86_400)));
    }

    #[test]
    fn a_key_is_known_beyond_the_last_second_of_a_slot() {
        let table = RecentKeys::lasting(SECONDS, 1 << 16);
        let now = u64::from(u32::MAX) - 1;
        table.remember(b"k", 1, Time::from_secs(now));
        assert!(table.knows(b"k", Time::from_secs(now)));
        assert!(table.knows(b"k", Time::from_secs(now + SECONDS - 1)));
        assert!(!table.knows(b"k", Time::from_secs(now + SECONDS)));
    }

    #[test]
    fn a_note_outlasts_what_is_known() {
        let table = RecentKeys::lasting(SECONDS, 1 << 16);
        let now = Time::from_secs(1_000_000);
        assert_eq!(table.noted(b"k"), None);
        table.remember(b"k", 255, now);
        assert_eq!(table.noted(b"k"), Some(255));
        table.note(b"k", 7);
        assert_eq!(table.noted(b"k"), Some(7));
        assert!(!table.knows(b"k", now));
        table.forget(b"k");
        assert_eq!(table.noted(b"k"), None);
    }

    #[test]
    fn keys_of_one_slot_replace_each_other_and_are_never_mixed_up() {
        let table = RecentKeys::lasting(SECONDS, 1 << 16);
        let now = Time::from_secs(1_000_000);
        let slot = |key: &[u8]| std::ptr::from_ref(table.place(key).0);
        let other = (0..1_u64 << 24)
            .map(u64::to_be_bytes)
            .find(|key| slot(key) == slot(b"k") && table.place(key).1 != table.place(b"k").1)
            .expect("every slot is met sooner or later");
        table.remember(b"k", 1, now);
        assert!(!table.knows(&other, now));
        table.forget(&other);
        assert!(table.knows(b"k", now), "another key was forgotten");
        table.remember(&other, 1, now);
        assert!(table.knows(&other, now));
        assert!(!table.knows(b"k", now));
    }
}
