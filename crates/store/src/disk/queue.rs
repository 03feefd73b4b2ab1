//! The queue of tasks for the keeper.

use super::{
    coming::{Coming, Waiting},
    counting::Question,
    index::{RecordPosition, Spot},
};
use crate::{Body, Stored};
use std::{
    collections::VecDeque,
    fs::File,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::Duration,
};

/// At most this many bytes wait to be written: they are memory that no budget counts.
const MOST_BYTES: u64 = 16 << 20;
/// At most this many stored responses wait to be written.
const MOST: usize = 4096;
/// How many times as much may wait when a response replaces another.
const MORE_REPLACING: u32 = 4;
/// With this many tasks waiting, the keeper hangs in a disk that does not answer, and what is only noted is dropped.
const MOST_NOTED: usize = 1 << 16;

/// A stored response to be written.
#[derive(Debug)]
pub(super) struct Offer {
    pub key: Box<[u8]>,
    pub stored: Arc<Stored>,
    /// What it takes of [`MOST_BYTES`]. Noted here, because a body of parts has fewer bytes once one of them turns out
    /// to be broken.
    bytes: u64,
    coming: Coming,
}

impl Offer {
    /// Whether it was [forgotten](Queue::forget) since it was queued.
    pub fn is_forgotten(&self) -> bool {
        self.coming.is_forgotten()
    }
}

/// Bytes of memory that a stored response and its key take while it waits.
fn bytes(key: &[u8], stored: &Stored) -> u64 {
    let body = match &stored.body {
        Body::Disk(_) => None,
        body => body.held(),
    };
    body.unwrap_or(0) + (key.len() + stored.fields.len()) as u64
}

/// A task for the keeper.
#[derive(Debug)]
pub(super) enum Task {
    /// Write this stored response.
    Store(Offer),
    /// Forget the record of this key at this place, which has damaged bytes.
    Damaged(u64, RecordPosition),
    /// Note that the whole body of the record of this key at this place was verified.
    Sound(u64, RecordPosition),
    /// Note that the record of this key at this place was asked for.
    Used(u64, RecordPosition),
    /// Forget this large file, which has damaged bytes.
    LargeDamaged(u64),
    /// Settle the accounts for this record, which was forgotten. It names a file, or its tags are counted.
    Forgotten(Spot),
    /// Count what purges cover.
    Survey(Question),
    /// Make room for this many bytes of this large file, and answer whether there is room.
    Room(u64, u64, SyncSender<bool>),
    /// Take back this many bytes of room that this large file did not need.
    Spare(u64, u64),
    /// Make room, because the file system is full.
    Full,
    /// Evict the oldest, because a quota is used up: no file system tells what is left of one.
    OverQuota,
    /// Keep this file, which is otherwise no longer kept open, for those who read it.
    LetGo(Arc<File>),
    /// Remove this large file, which nobody holds and no record names.
    Unnamed(u64),
    /// Answer that everything that came before is done.
    Flush(SyncSender<()>),
}

impl Task {
    /// Whether no more is lost with it than a verified body that is verified once more, or a use that does not count.
    fn is_a_note(&self) -> bool {
        matches!(self, Self::Sound(..) | Self::Used(..))
    }
}

/// What comes next from the queue.
#[derive(Debug)]
pub(super) enum Next {
    /// This task.
    Task(Task),
    /// Nothing: no task came within the time.
    Quiet,
    /// Nothing ever again: the queue is closed and empty.
    Closed,
}

#[derive(Debug, Default)]
struct Tasks {
    list: VecDeque<Task>,
    offers: usize,
    bytes: u64,
    is_closed: bool,
}

/// The handle of the keeper.
#[derive(Debug, Default)]
pub(super) struct Queue {
    tasks: Mutex<Tasks>,
    more: Condvar,
    waiting: Waiting,
}

impl Queue {
    /// Whether something is about to be written under the key with this hash.
    pub fn knows(&self, hash: u64) -> bool {
        self.waiting.knows(hash)
    }

    /// Whether what is about to be written [hides](Waiting::hides) `older`.
    pub fn hides(&self, hash: u64, older: &Stored) -> bool {
        self.waiting.hides(hash, older)
    }

    /// Forgets what is about to be written under the key with this hash, or only what `is_meant`.
    pub fn forget(&self, hash: u64, is_meant: impl Fn(&Stored) -> bool) {
        self.waiting.forget(hash, is_meant);
    }

    /// Queues a stored response whose key has this hash; false if the queue is full. There is more room for a response
    /// that replaces another: if it is left out, the older one would be found as if it were the latest, and must be
    /// withdrawn.
    pub fn offer(&self, key: &[u8], hash: u64, stored: &Arc<Stored>, replaces: bool) -> bool {
        let own = bytes(key, stored);
        let mut tasks = self.lock();
        let bytes = tasks.bytes + own;
        // A response is always taken if no other waits, however large.
        let times = if replaces { MORE_REPLACING } else { 1 };
        let fits = tasks.offers < MOST * times as usize
            && (bytes <= MOST_BYTES * u64::from(times) || tasks.offers == 0);
        let takes = fits && !tasks.is_closed;
        if takes {
            tasks.offers += 1;
            tasks.bytes = bytes;
            tasks.list.push_back(Task::Store(Offer {
                key: key.into(),
                stored: stored.clone(),
                bytes: own,
                coming: self.waiting.add(hash, stored),
            }));
            self.more.notify_one();
        }
        takes
    }

    /// Queues any other task. A task that is dropped because the queue is closed is not answered.
    pub fn push(&self, task: Task) {
        let mut tasks = self.lock();
        let is_dropped = task.is_a_note() && tasks.list.len() >= MOST_NOTED;
        if !tasks.is_closed && !is_dropped {
            tasks.list.push_back(task);
            self.more.notify_one();
        }
    }

    /// Takes the next task. Waits for one at most as long as `patience`.
    pub fn next(&self, patience: Duration) -> Next {
        let mut tasks = self.lock();
        while tasks.list.is_empty() && !tasks.is_closed {
            let waited = self.more.wait_timeout(tasks, patience);
            let (held, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            tasks = held;
            if timeout.timed_out() && tasks.list.is_empty() && !tasks.is_closed {
                return Next::Quiet;
            }
        }
        let Some(task) = tasks.list.pop_front() else {
            return Next::Closed;
        };
        if let Task::Store(offer) = &task {
            tasks.offers -= 1;
            tasks.bytes -= offer.bytes;
        }
        Next::Task(task)
    }

    /// Closes the queue: nothing more is taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.more.notify_all();
    }

    /// The smallest number of the log that any queued response was checked up to.
    pub fn oldest_checked(&self) -> Option<u64> {
        let tasks = self.lock();
        let queued = tasks.list.iter().filter_map(|task| match task {
            Task::Store(offer) => Some(offer),
            _ => None,
        });
        queued.map(|offer| offer.stored.checked()).min()
    }

    /// Bytes that wait to be written.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that hangs in one write is read on from what the system holds of it, and each reading is noted.
    #[test]
    fn notes_are_dropped_while_the_keeper_hangs_and_nothing_else_is() {
        let queue = Queue::default();
        let place = RecordPosition::default();
        for _ in 0..MOST_NOTED {
            queue.push(Task::Used(1, place));
            queue.push(Task::Sound(1, place));
        }
        queue.push(Task::Damaged(1, place));
        assert_eq!(queue.lock().list.len(), MOST_NOTED + 1);
        assert!(matches!(queue.lock().list.back(), Some(Task::Damaged(..))));
        assert!(matches!(
            queue.next(Duration::ZERO),
            Next::Task(Task::Used(..))
        ));
    }
}
