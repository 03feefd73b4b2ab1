//! Admission: the tier takes as much as may be written, while the device works.

use super::{Disk, Doing, Writer, bucket::Bucket, statistics::count};
use crate::{Body, Stored};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A device that has been at one chunk of a large body for so long, and has taken nothing else meanwhile, stands still.
/// A slow one takes many.
const STILL: Duration = Duration::from_secs(30);

impl Disk {
    /// Queues `stored` to be written. False if it is not taken: the queue is full, the write rate is used up, or the
    /// tier is out of order. For a response that replaces another, the rate does not count, and the queue is longer.
    ///
    /// What is taken waits until the device has taken what came before, and while the tier is loaded until that is done.
    /// Older versions of it are not found meanwhile (`coming`): memory may lose it before it is written.
    pub fn offer(&self, key: &[u8], stored: &Arc<Stored>) -> bool {
        self.take(key, stored, None)
    }

    /// Like [`offer`](Self::offer), for what memory has evicted, at a bounded rate.
    pub fn demote(&self, key: &[u8], stored: &Arc<Stored>) -> bool {
        self.take(key, stored, Some(&self.shared.device.demotions))
    }

    fn take(&self, key: &[u8], stored: &Arc<Stored>, of: Option<&Bucket>) -> bool {
        let device = &self.shared.device;
        let bytes = match &stored.body {
            Body::Filling(_) => return false,
            Body::Disk(_) => 0,
            body => body.held().unwrap_or(0),
        };
        let size = bytes + (key.len() + stored.fields.len()) as u64;
        let hash = self.shared.hash(key);
        let replaces = device.queue.knows(hash) || self.shared.index.knows(hash);
        let buckets = || of.into_iter().chain([&device.bucket]);
        let has_leave = || buckets().all(|bucket| bucket.take(0, Instant::now()));
        let takes = bytes <= self.shared.most_large
            && device.health.may(Doing::Writing)
            && (replaces || has_leave())
            && device.queue.offer(key, hash, stored, replaces);
        if takes {
            buckets().for_each(|bucket| bucket.spend(size));
        } else {
            // What is not written costs nothing of the rate.
            count(&device.counts.refused);
        }
        takes
    }

    /// Begins to write a body that is too large for memory, of `length` bytes if that is known. `None` if the tier does
    /// not take it. Where the device stands still, it takes none until that has come back: each would wait for it as
    /// long, together with its clients.
    pub fn begin(&self, length: Option<u64>) -> Option<Writer> {
        let device = &self.shared.device;
        let takes = length.is_none_or(|length| length <= self.shared.most_large)
            && device.health.may(Doing::Writing)
            && !device.writers.has_stood_still(STILL)
            && device.bucket.take(0, Instant::now());
        if !takes {
            count(&device.counts.refused);
            return None;
        }
        let large = Arc::new(self.shared.new_large(length));
        Some(Writer::new(large, self.shared.most_large))
    }
}
