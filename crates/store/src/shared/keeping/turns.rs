//! Limits how many responses are written at once, and lets writes under one name take turns.

use crate::shared::{Inner, errands::Errand};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::Mutex;
use xxhash_rust::xxh3::xxh3_64;

/// The most responses on their way at once. More are not kept, so that they do not pile up before a slow server.
const MOST_AT_ONCE: usize = 256;

/// The number of shares into which names are divided by their hash. Writes of one share take turns.
const SHARES: usize = 64;

/// One lock for each share of the names.
#[derive(Debug)]
pub(in crate::shared) struct Writing([Mutex<()>; SHARES]);

impl Writing {
    /// The lock for writes under `name`.
    #[allow(
        clippy::indexing_slicing,
        reason = "there are as many shares as the index is a remainder of"
    )]
    pub(super) fn of(&self, name: &str) -> &Mutex<()> {
        let share = xxh3_64(name.as_bytes()) as usize % SHARES;
        &self.0[share]
    }
}

impl Default for Writing {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

/// A place among the responses on their way.
pub(super) struct WritePermit(Errand);

impl WritePermit {
    pub(super) fn take(shared: &Arc<Inner>) -> Option<Self> {
        let permit = Self(Errand::begin(shared));
        (shared.keeping.fetch_add(1, Relaxed) < MOST_AT_ONCE).then_some(permit)
    }

    pub(super) const fn tier(&self) -> &Arc<Inner> {
        &self.0.0
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        self.tier().keeping.fetch_sub(1, Relaxed);
    }
}
