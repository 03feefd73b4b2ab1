//! Which chunks of a body were verified since the program started.
//!
//! A chunk that was verified once may go from the page cache to a socket without being checked again. After a crash or
//! a loss of power the program starts again, and no longer knows what it had verified.

use super::format::CHUNK;
use std::sync::{
    OnceLock,
    atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{AcqRel, Relaxed},
    },
};

/// The chunks of one body, one bit each.
#[derive(Debug, Default)]
pub(super) struct Sound {
    bits: OnceLock<Box<[AtomicU64]>>,
    count: AtomicUsize,
}

impl Sound {
    /// Notes that chunk `number` of a body of `whole` bytes was verified. Returns whether it was the last one missing.
    pub fn mark(&self, number: u64, whole: u64) -> bool {
        let chunks = chunks(whole);
        let make = || (0..chunks.div_ceil(64)).map(|_| AtomicU64::new(0));
        let bits = self.bits.get_or_init(|| make().collect());
        let Some(word) = bits.get((number / 64) as usize) else {
            return false;
        };
        let bit = 1 << (number % 64);
        let is_new = word.fetch_or(bit, Relaxed) & bit == 0;
        is_new && self.count.fetch_add(1, AcqRel) + 1 == chunks
    }

    /// Whether chunk `number` was verified.
    pub fn has(&self, number: u64) -> bool {
        let word = self
            .bits
            .get()
            .and_then(|bits| bits.get((number / 64) as usize));
        word.is_some_and(|word| word.load(Relaxed) & 1 << (number % 64) != 0)
    }
}

fn chunks(whole: u64) -> usize {
    whole.div_ceil(CHUNK as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_that_was_missing_is_told_once() {
        let whole = 130 * CHUNK as u64 + 1;
        let sound = Sound::default();
        assert!(!sound.has(0));
        for number in (0..130).rev() {
            assert!(!sound.mark(number, whole));
        }
        assert!(!sound.mark(7, whole), "known already");
        assert!(!sound.has(130) && sound.has(129));
        assert!(sound.mark(130, whole));
        assert!(!sound.mark(130, whole) && !sound.mark(1000, whole));
        assert!(!sound.has(1000));
    }
}
