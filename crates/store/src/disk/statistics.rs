//! The tier's figures: what it counts, and a snapshot for metrics.

use super::{Disk, Doing};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of the tier.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    pub writes: AtomicU64,
    pub bytes_written: AtomicU64,
    pub refused: AtomicU64,
    pub errors: AtomicU64,
    pub damaged: AtomicU64,
    pub evicted: AtomicU64,
    pub forwarded: AtomicU64,
}

/// Adds one to `counter`.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// A snapshot for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Stored responses that can be found.
    pub records: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The most bytes that the files may have.
    pub limit: u64,
    /// Segments.
    pub segments: u64,
    /// Files that hold one large body each.
    pub large_files: u64,
    /// Bytes of memory that the index takes.
    pub index_bytes: u64,
    /// Whether everything that an earlier run left has been found.
    pub is_whole: bool,
    /// Lookups that found something.
    pub hits: u64,
    /// Lookups that found nothing.
    pub misses: u64,
    /// Stored responses written.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Stored responses not written: the queue was full, the write rate was used up, there was no room, or the device
    /// failed.
    pub refused_writes: u64,
    /// Stored responses that were evicted.
    pub evicted: u64,
    /// Stored responses that were written again instead of evicted, because they had been asked for.
    pub forwarded: u64,
    /// Operations that the operating system failed.
    pub errors: u64,
    /// How often bytes were not those that were written.
    pub damaged: u64,
    /// Whether the device fails, so that it is left alone for a while.
    pub is_failing: bool,
}

impl Disk {
    /// A snapshot for metrics.
    pub fn statistics(&self) -> Statistics {
        let (shared, device) = (&self.shared, &self.shared.device);
        let counts = &device.counts;
        let (records, index_bytes) = shared.index.size();
        Statistics {
            records,
            bytes: shared.total.load(Relaxed),
            limit: shared.size,
            segments: shared.segments().len() as u64,
            large_files: shared.large.load(Relaxed),
            index_bytes,
            is_whole: shared.is_whole.load(Relaxed),
            hits: counts.hits.load(Relaxed),
            misses: counts.misses.load(Relaxed),
            writes: counts.writes.load(Relaxed),
            bytes_written: counts.bytes_written.load(Relaxed),
            refused_writes: counts.refused.load(Relaxed),
            evicted: counts.evicted.load(Relaxed),
            forwarded: counts.forwarded.load(Relaxed),
            errors: counts.errors.load(Relaxed),
            damaged: counts.damaged.load(Relaxed),
            is_failing: device.health.is_failing(Doing::Reading)
                || device.health.is_failing(Doing::Writing),
        }
    }
}
