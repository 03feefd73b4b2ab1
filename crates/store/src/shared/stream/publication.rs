//! Publications: purges that were appended together, from then until they are read back and applied here.

use super::{Common, Done, lock};
use crate::{Purged, purge::Position};
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::oneshot;

/// Purges that were published together.
pub struct Pending {
    count: usize,
    done: Vec<Purged>,
    reply: oneshot::Sender<Done>,
}

/// A publication that is to be read back. When this is dropped, nobody waits for it any more.
pub struct Awaited<'a> {
    common: &'a Common,
    /// Its number in this process.
    pub number: u64,
    /// Gets the results once all of it is applied.
    pub done: oneshot::Receiver<Done>,
}

impl<'a> Awaited<'a> {
    /// Registers a publication of `count` purges.
    pub fn new(common: &'a Common, count: usize) -> Self {
        let number = common.published.fetch_add(1, Relaxed);
        let (reply, done) = oneshot::channel();
        let pending = Pending {
            count,
            done: Vec::with_capacity(count),
            reply,
        };
        lock(&common.pending).insert(number, pending);
        Self {
            common,
            number,
            done,
        }
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        lock(&self.common.pending).remove(&self.number);
    }
}

impl Common {
    /// Notes that the stream is read from its beginning: own entries that were read before are read and counted again.
    pub fn count_again(&self) {
        for pending in lock(&self.pending).values_mut() {
            pending.done.clear();
        }
    }

    /// Notes that an own entry has been applied. The last of a publication answers it.
    pub fn applied(&self, number: u64, purged: Purged, position: Position) {
        let mut all = lock(&self.pending);
        let Some(pending) = all.get_mut(&number) else {
            // The caller gave up.
            return;
        };
        pending.done.push(purged);
        if pending.done.len() == pending.count
            && let Some(pending) = all.remove(&number)
        {
            // The caller may have left.
            let _ = pending.reply.send((pending.done, position));
        }
    }
}
