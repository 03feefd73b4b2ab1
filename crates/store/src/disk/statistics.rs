//! What the tier counts.

use super::{Disk, Doing};
use std::sync::atomic::Ordering::Relaxed;

/// A snapshot for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Stored responses that can be found.
    pub records: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The most they may be.
    pub limit: u64,
    /// Segments.
    pub segments: u64,
    /// Files with a large body each.
    pub large_files: u64,
    /// Bytes of memory that the index takes.
    pub index_bytes: u64,
    /// Whether everything that another run left has been found.
    pub is_whole: bool,
    /// Keys that were found.
    pub hits: u64,
    /// Keys that were not.
    pub misses: u64,
    /// Stored responses written.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Stored responses not written: queue full, write rate used up, no room, or the device fails.
    pub refused_writes: u64,
    /// Stored responses that went for others.
    pub evicted: u64,
    /// Stored responses that would have gone, but were written again because they had been asked for.
    pub forwarded: u64,
    /// Operations that the operating system failed.
    pub errors: u64,
    /// Times that bytes were not what was written.
    pub damaged: u64,
    /// Whether it is left alone for a while, because the device fails.
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
