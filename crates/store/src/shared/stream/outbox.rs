//! Invalidations on their way to other nodes.

use super::lock;
use crate::{
    Memory,
    purge::{Purge, What},
};
use rules::time::Time;
use std::{collections::VecDeque, mem, sync::Mutex};
use tokio::sync::Notify;

/// The most invalidations that wait for the server.
const MOST_TOLD: usize = 1 << 16;

/// The most bytes that these may take: their URLs are as long as clients make them.
const MOST_TOLD_BYTES: usize = 16 << 20;

/// How many invalidations are sent at once.
const TOLD_AT_ONCE: usize = 256;

/// Invalidations that took effect here, until they are delivered.
#[derive(Debug, Default)]
pub struct PurgeOutbox {
    queue: Mutex<SendQueue>,
    more: Notify,
}

#[derive(Debug, Default)]
struct SendQueue {
    /// In the order in which they took effect here, with their numbers in this node's log. What is being sent is first.
    purges: VecDeque<(u64, Purge)>,
    /// The bytes of what they name.
    bytes: usize,
    overflowed: bool,
}

impl PurgeOutbox {
    /// Applies `purge` to `memory` and queues it. If too many wait, one purge of everything replaces them.
    pub fn push(&self, memory: &Memory, purge: Purge, at: Time) {
        // Both under the lock, so that the copies come back in the order of the entries.
        let mut queue = lock(&self.queue);
        let sequence = memory.apply_ahead(purge.clone(), at).sequence;
        queue.push(sequence, purge);
        drop(queue);
        self.more.notify_one();
    }

    /// Queues what took effect before a restart and may not have reached the others. Called before anything else is
    /// queued.
    pub fn push_unsent(&self, memory: &Memory) {
        let mut queue = lock(&self.queue);
        for (sequence, purge) in memory.log().take_unsent() {
            queue.push(sequence, purge);
        }
    }

    /// Applies what is queued once more, because this node's log has [forgotten](crate::purge::Log::forget) everything,
    /// including that these purges are ahead of the shared log. They are sent under their new numbers. Copies that are
    /// being sent under old numbers do no harm.
    pub fn push_again(&self, memory: &Memory, at: Time) {
        let mut queue = lock(&self.queue);
        for (sequence, purge) in &mut queue.purges {
            *sequence = memory.apply_ahead(purge.clone(), at).sequence;
        }
    }

    /// Waits until something is queued.
    pub async fn wait(&self) {
        self.more.notified().await;
    }

    /// Returns the first purges to send, and whether there have been too many.
    pub fn first(&self) -> (Vec<(u64, Purge)>, bool) {
        let mut queue = lock(&self.queue);
        let first = queue.purges.iter().take(TOLD_AT_ONCE);
        let first = first.cloned().collect();
        (first, mem::take(&mut queue.overflowed))
    }

    /// Notes that all up to the one with this number have been delivered.
    pub fn delivered(&self, last: u64) {
        let mut queue = lock(&self.queue);
        let count = queue
            .purges
            .partition_point(|(sequence, _)| *sequence <= last);
        let delivered = queue.purges.drain(..count);
        let bytes: usize = delivered.map(|(_, purge)| purge.weight()).sum();
        queue.bytes -= bytes;
    }
}

impl SendQueue {
    fn push(&mut self, sequence: u64, mut purge: Purge) {
        if self.purges.len() >= MOST_TOLD || self.bytes + purge.weight() > MOST_TOLD_BYTES {
            self.purges.clear();
            self.bytes = 0;
            purge = Purge::hard(What::Everything);
            self.overflowed = true;
        }
        self.bytes += purge.weight();
        self.purges.push_back((sequence, purge));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Queues `count` invalidations of URLs of this length. Returns the first in the queue, and whether there were too
    /// many.
    fn told(count: usize, length: usize) -> (Purge, bool) {
        let (memory, told) = (Memory::new(1 << 20, Arc::default()), PurgeOutbox::default());
        for number in 0..count {
            let url = format!("//a.example/{number:0length$}");
            told.push(&memory, Purge::hard(What::Url(vec![url])), Time::default());
        }
        let (first, overflowed) = told.first();
        assert!(lock(&told.queue).bytes <= MOST_TOLD_BYTES);
        (first.into_iter().next().expect("some").1, overflowed)
    }

    #[test]
    fn what_waits_is_bounded_by_count_and_by_bytes() {
        let everything = Purge::hard(What::Everything);
        for (count, length, overflows) in [
            (MOST_TOLD, 8, false),
            (MOST_TOLD + 1, 8, true),
            (1000, 8000, false),
            (2200, 8000, true),
        ] {
            let (first, overflowed) = told(count, length);
            assert_eq!(overflowed, overflows, "{count} of {length}");
            assert_eq!(first == everything, overflows, "{count} of {length}");
        }
    }

    #[test]
    fn what_is_delivered_makes_room() {
        let (memory, told) = (Memory::new(1 << 20, Arc::default()), PurgeOutbox::default());
        for _ in 0..10 {
            let tags = Purge::hard(What::Tags(vec!["x".repeat(1 << 20)]));
            told.push(&memory, tags, Time::default());
        }
        let (first, _) = told.first();
        told.delivered(first.last().expect("some").0);
        assert_eq!(lock(&told.queue).bytes, 0);
    }
}
