//! What waits for the thread that keeps the directory.

use super::{
    counting::Question,
    index::{RecordPosition, Spot},
};
use crate::{Body, Stored};
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    fs::File,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    time::Duration,
};

/// At most so many bytes of bodies wait to be written: they are memory that no budget counts.
const MOST_BYTES: u64 = 16 << 20;
/// At most so many stored responses wait to be written.
const MOST: usize = 4096;
/// How many times more may wait of what takes the place of another.
const MORE_REPLACING: u32 = 4;

/// A stored response to be written.
#[derive(Debug)]
pub(super) struct Offer {
    pub key: Box<[u8]>,
    pub stored: Arc<Stored>,
    /// What it takes of [`MOST_BYTES`]. A body of parts has fewer bytes once one of them turns out to be broken.
    bytes: u64,
    _coming: Coming,
}

/// The hashes of keys of which something is about to be written, and how often each.
type Keys = Arc<Mutex<HashMap<u64, u32>>>;

/// Says that something of a key is about to be written, until it is dropped.
#[derive(Debug)]
struct Coming {
    keys: Keys,
    hash: u64,
}

impl Coming {
    fn new(keys: &Keys, hash: u64) -> Self {
        *lock(keys).entry(hash).or_default() += 1;
        Self {
            keys: keys.clone(),
            hash,
        }
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = lock(&self.keys).entry(self.hash) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

fn lock(keys: &Keys) -> MutexGuard<'_, HashMap<u64, u32>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a stored response takes of memory while it waits, with its key.
fn bytes(key: &[u8], stored: &Stored) -> u64 {
    let body = match &stored.body {
        Body::Disk(_) => None,
        body => body.held(),
    };
    body.unwrap_or(0) + (key.len() + stored.fields.len()) as u64
}

/// Something for that thread to do.
#[derive(Debug)]
pub(super) enum Task {
    /// Write it.
    Store(Offer),
    /// The record of this key at this place holds damaged bytes.
    Damaged(u64, RecordPosition),
    /// All of the body of the record of this key at this place was verified.
    Sound(u64, RecordPosition),
    /// The record of this key at this place was asked for.
    Used(u64, RecordPosition),
    /// This large file holds damaged bytes.
    LargeDamaged(u64),
    /// This record, which names a file or whose tags are counted, is not found any more.
    Forgotten(Spot),
    /// Nothing that came before is found under this key any more.
    Forget(u64),
    /// The same, of this variant of the key alone.
    ForgetVersions(u64, u32),
    /// Say what purges cover.
    Survey(Question),
    /// Make room for so many bytes of this large file; says whether there is.
    Room(u64, u64, SyncSender<bool>),
    /// So many bytes of the room for this large file were not needed.
    Spare(u64, u64),
    /// The file system is full.
    Full,
    /// This file is kept open no more, but for those who read it.
    Left(Arc<File>),
    /// Nobody holds this large file and no record names it.
    Unnamed(u64),
    /// Everything that came before is done.
    Flush(SyncSender<()>),
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    /// This is to be done.
    Task(Task),
    /// Nothing came for as long as it was waited for.
    Quiet,
    /// The queue is closed, and nothing is left.
    Closed,
}

#[derive(Debug, Default)]
struct Tasks {
    list: VecDeque<Task>,
    offers: usize,
    bytes: u64,
    is_closed: bool,
}

/// The thread's door.
#[derive(Debug, Default)]
pub(super) struct Queue {
    tasks: Mutex<Tasks>,
    more: Condvar,
    coming: Keys,
}

impl Queue {
    /// Whether something of the key with this hash is about to be written.
    pub fn knows(&self, hash: u64) -> bool {
        lock(&self.coming).contains_key(&hash)
    }

    /// Queues a stored response, whose key has this hash; false where the queue is full. There is more room for what takes the place
    /// of another: left out, the other would be found as if it were the latest, and has to be withdrawn.
    pub fn offer(&self, key: &[u8], hash: u64, stored: &Arc<Stored>, replaces: bool) -> bool {
        let offer = Offer {
            key: key.into(),
            stored: stored.clone(),
            bytes: bytes(key, stored),
            _coming: Coming::new(&self.coming, hash),
        };
        let mut tasks = self.lock();
        let bytes = tasks.bytes + offer.bytes;
        // One is always taken, however large.
        let times = if replaces { MORE_REPLACING } else { 1 };
        let fits = tasks.offers < MOST * times as usize
            && (bytes <= MOST_BYTES * u64::from(times) || tasks.offers == 0);
        let takes = fits && !tasks.is_closed;
        if takes {
            tasks.offers += 1;
            tasks.bytes = bytes;
            tasks.list.push_back(Task::Store(offer));
            self.more.notify_one();
        }
        takes
    }

    /// Queues anything else; what is dropped because the queue is closed answers nobody.
    pub fn push(&self, task: Task) {
        let mut tasks = self.lock();
        if !tasks.is_closed {
            tasks.list.push_back(task);
            self.more.notify_one();
        }
    }

    /// The next thing to do; waits for it, for as long as it has `patience`.
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

    /// Nothing more is taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.more.notify_all();
    }

    /// The smallest number of the log that anything queued was checked up to.
    pub fn oldest_checked(&self) -> Option<u64> {
        let tasks = self.lock();
        let queued = tasks.list.iter().filter_map(|task| match task {
            Task::Store(offer) => Some(offer),
            _ => None,
        });
        queued.map(|offer| offer.stored.checked()).min()
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
