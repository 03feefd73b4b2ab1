//! What everything that reads and writes has in common.

use super::{
    bucket::Bucket,
    health::{Counts, Doing, Event, Health, count},
    pool::Pool,
    queue::{Queue, Task},
};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, IoSliceMut},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

/// How a read may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadMode {
    /// From the page cache only: on a worker's thread.
    NonBlocking,
    /// Waiting for the device: on a thread of the tier.
    Blocking,
}

/// Why something was not read.
#[derive(Debug)]
pub(super) enum Missed {
    /// It does not lie in the page cache.
    Waits,
    /// It is not what was written, or not whole.
    Damaged,
    /// The device failed; counted and told already.
    Failed,
}

/// The directory, the threads that wait for it, and how it is doing.
#[derive(Debug)]
pub(super) struct Device {
    pub path: PathBuf,
    /// Drawn when the directory was made: seeds the hashes of keys.
    pub seed: u64,
    pub readers: Pool,
    pub writers: Pool,
    pub queue: Queue,
    pub health: Health,
    pub bucket: Bucket,
    /// The same for what memory evicts.
    pub demotions: Bucket,
    pub counts: Counts,
    /// The file system knows no reads that do not wait.
    pub always_waits: AtomicBool,
    pub began: Instant,
}

impl Device {
    /// Fills `into` from `offset` of `file`, which is `path`.
    pub fn read(
        &self,
        file: &File,
        into: &mut [u8],
        offset: u64,
        mode: ReadMode,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), Missed> {
        if !self.health.may(Doing::Reading) {
            return Err(Missed::Failed);
        }
        let read = match mode {
            ReadMode::NonBlocking => self.read_at_once(file, into, offset)?,
            ReadMode::Blocking => file.read_exact_at(into, offset),
        };
        match read {
            Ok(()) => {
                self.health.worked(Doing::Reading);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Missed::Damaged),
            Err(error) => {
                self.failed(Doing::Reading, &path(), &error);
                Err(Missed::Failed)
            }
        }
    }

    fn read_at_once(
        &self,
        file: &File,
        into: &mut [u8],
        offset: u64,
    ) -> Result<io::Result<()>, Missed> {
        if self.always_waits.load(Relaxed) {
            return Err(Missed::Waits);
        }
        let wanted = into.len();
        let slice = &mut [IoSliceMut::new(into)];
        match preadv2(file, slice, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) if read == wanted => Ok(Ok(())),
            // The rest is not there, or the file ends: the reader that waits will know.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Err(Missed::Waits),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                self.always_waits.store(true, Relaxed);
                Err(Missed::Waits)
            }
            Err(error) => Ok(Err(error.into())),
        }
    }

    /// Seconds since the tier was opened, and one.
    pub fn seconds(&self) -> u32 {
        let seconds = self.began.elapsed().as_secs().saturating_add(1);
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }

    /// Whether the byte at `offset` lies in the page cache.
    pub fn is_at_hand(&self, file: &File, offset: u64) -> bool {
        matches!(self.read_at_once(file, &mut [0], offset), Ok(Ok(())))
    }

    /// Counts a failure, and has it told where it is the first. Where the file system is full, room is made, so that there is some when it is
    /// tried again.
    pub fn failed(&self, doing: Doing, file: &Path, error: &io::Error) {
        count(&self.counts.errors);
        self.health.failed(doing, file, error);
        if error.kind() == io::ErrorKind::StorageFull {
            self.tell_keeper(Task::Full);
        }
    }

    /// Counts bytes that are not what was written, and has them told.
    pub fn damaged(&self, file: PathBuf, offset: u64) {
        count(&self.counts.damaged);
        self.health.tell(Event::Damaged { file, offset });
    }

    /// Queues something for the thread that keeps the directory.
    pub fn tell_keeper(&self, task: Task) {
        self.queue.push(task);
    }

    /// A segment's file.
    pub fn segment_path(&self, id: u32) -> PathBuf {
        self.path.join(segment_name(id))
    }

    /// A large file.
    pub fn large_path(&self, id: u64) -> PathBuf {
        self.path.join(large_name(id))
    }
}

pub(super) fn segment_name(id: u32) -> String {
    format!("segment-{id:08x}")
}

pub(super) fn large_name(id: u64) -> String {
    format!("large-{id:016x}")
}

/// A number that nobody can guess. Never zero.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now()) | 1
}
