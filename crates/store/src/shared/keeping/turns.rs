//! How many are written at once, and what is written in turn.

use crate::shared::Inner;
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::Mutex;
use xxhash_rust::xxh3::xxh3_64;

/// At most this many responses on their way at once; more are not kept, rather than to pile up before a slow server.
const MOST_AT_ONCE: usize = 256;

/// Into how many shares names are divided, by their hash, to be written in turn.
const SHARES: usize = 64;

/// One lock for each share of the names.
#[derive(Debug)]
pub(in crate::shared) struct Writing([Mutex<()>; SHARES]);

impl Writing {
    /// The lock that the name's writes take in turn.
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

/// A place among those that are on their way.
pub(super) struct WritePermit(pub(super) Arc<Inner>);

impl WritePermit {
    pub(super) fn take(shared: &Arc<Inner>) -> Option<Self> {
        let permit = Self(Arc::clone(shared));
        (shared.keeping.fetch_add(1, Relaxed) < MOST_AT_ONCE).then_some(permit)
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        self.0.keeping.fetch_sub(1, Relaxed);
    }
}
