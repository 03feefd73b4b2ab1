//! Handles a file system that is full before the tier is: the tier takes no more than there is room for.

use super::{Keeper, Leaving, room::SecondChance};
use rustix::fs::statvfs;
use std::{os::unix::fs::MetadataExt, sync::atomic::Ordering::Relaxed};

impl Keeper {
    /// Notes that the file system is full. From now on its free space is checked before anything is written. The oldest
    /// is evicted at once, and none of that is written again, because there is no room for it.
    pub(super) fn fill_up(&mut self) {
        self.is_tight = true;
        if self.free().is_some() {
            self.make_way(0, SecondChance::Refused);
        } else {
            self.evict(SecondChance::Refused);
        }
    }

    /// Evicts the oldest until the file system has room for `bytes` and a little more. Returns whether it has room by
    /// now. Removed files take their space until nobody reads them any longer, so that a write right after this may
    /// come too early.
    pub(super) fn make_way(&mut self, bytes: u64, mut chance: SecondChance) -> bool {
        // Not all file systems tell their free space.
        let Some(free) = self.free() else {
            return true;
        };
        let (coming, before) = (free.saturating_add(self.leaving()), self.total);
        let spare = (2 * self.shared.segment_size).min(coming.saturating_add(before) / 8);
        let wanted = bytes.saturating_add(spare);
        while wanted > coming.saturating_add(before.saturating_sub(self.total)) {
            if !self.evict(chance) {
                break;
            }
            chance = SecondChance::Refused;
        }
        self.is_free(bytes)
    }

    /// Whether the file system now has room for `bytes`.
    pub(super) fn is_free(&self, bytes: u64) -> bool {
        self.free().is_none_or(|free| bytes <= free)
    }

    /// Bytes that are free in the file system; `None` if it does not say.
    fn free(&self) -> Option<u64> {
        let status = statvfs(&self.shared.device.path).ok()?;
        // A file system that counts its files may have none left.
        let has_names = status.f_files == 0 || status.f_favail > 0;
        Some(if has_names {
            status.f_bavail.saturating_mul(status.f_frsize)
        } else {
            0
        })
    }

    /// Bytes of files that are removed and still open.
    fn leaving(&self) -> u64 {
        self.leaving.iter().map(|(_, left)| left.bytes()).sum()
    }
}

impl Leaving {
    /// Bytes that it still takes of the file system, if it has no name any more.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Segment(segment) => segment.bytes.load(Relaxed),
            Self::Large(file) => match file.metadata() {
                Ok(metadata) if metadata.nlink() == 0 => metadata.len(),
                _ => 0,
            },
        }
    }
}
