//! What is noted of a stored response while it is shared. Everything else of it stays as it is.

use super::Stored;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

/// The notes. A copy has its own from then on.
#[derive(Debug)]
pub(super) struct Notes {
    /// The number of the log up to which no purge covers the response.
    checked: AtomicU64,
    uses: AtomicU64,
    /// The set of chunks in which the shared tier has the body; 0 if none is known.
    chunks: AtomicU64,
}

/// A note that becomes true.
#[derive(Debug, Default)]
pub(super) struct Flag(AtomicBool);

impl Notes {
    /// Nothing is known yet, but that no purge before `checked` covers the response.
    pub fn new(checked: u64) -> Self {
        Self {
            checked: AtomicU64::new(checked),
            uses: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
        }
    }

    /// The same, but checked up to `checked`.
    pub fn checked_up_to(self, checked: u64) -> Self {
        Self {
            checked: AtomicU64::new(checked),
            ..self
        }
    }

    /// The same, but with the chunks of `old`.
    pub fn with_chunks_of(self, old: &Self) -> Self {
        Self {
            chunks: AtomicU64::new(old.chunks.load(Relaxed)),
            ..self
        }
    }

    /// The same, but no chunks are known.
    pub fn without_chunks(self) -> Self {
        Self {
            chunks: AtomicU64::new(0),
            ..self
        }
    }
}

impl Clone for Notes {
    fn clone(&self) -> Self {
        let copy = |number: &AtomicU64| AtomicU64::new(number.load(Acquire));
        Self {
            checked: copy(&self.checked),
            uses: copy(&self.uses),
            chunks: copy(&self.chunks),
        }
    }
}

impl Clone for Flag {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.0.load(Acquire)))
    }
}

impl Stored {
    /// The number of the log up to which no purge covers it.
    pub fn checked(&self) -> u64 {
        self.notes.checked.load(Acquire)
    }

    /// Notes that it was checked from `from` up to `to`.
    pub(crate) fn check(&self, from: u64, to: u64) {
        // If another thread was faster, its number is as good.
        let checked = &self.notes.checked;
        let _ = checked.compare_exchange(from, to, AcqRel, Relaxed);
    }

    /// Counts a use. Returns how many there were before. Uses at the same moment may count once: the number only
    /// measures demand.
    pub fn used(&self) -> u64 {
        let uses = self.notes.uses.load(Relaxed);
        self.notes.uses.store(uses + 1, Relaxed);
        uses
    }

    /// The number of uses.
    pub fn uses(&self) -> u64 {
        self.notes.uses.load(Relaxed)
    }

    pub(crate) fn set_uses(&self, uses: u64) {
        self.notes.uses.store(uses, Relaxed);
    }

    /// The set of chunks in which the shared tier has its body; `None` if none is known.
    pub(crate) fn chunks(&self) -> Option<u64> {
        Some(self.notes.chunks.load(Relaxed)).filter(|set| *set != 0)
    }

    /// Notes that the shared tier has its body in chunks of `set`.
    pub(crate) fn set_chunks(&self, set: u64) {
        self.notes.chunks.store(set, Relaxed);
    }

    /// Whether a tier below memory has it, or has been asked to take it.
    pub fn is_below(&self) -> bool {
        self.below.0.load(Relaxed)
    }

    /// Notes that a tier below memory has it, or has been asked to take it.
    pub fn set_below(&self) {
        self.below.0.store(true, Relaxed);
    }
}
