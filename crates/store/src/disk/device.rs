//! The state that all readers and writers of the tier share.

use super::{
    bucket::Bucket,
    event::{Doing, Event},
    health::Health,
    pool::Pool,
    queue::{Queue, Task},
    statistics::{Counts, count},
};
use rustix::{
    fs::OFlags,
    io::{Errno, ReadWriteFlags, preadv2},
};
use std::{
    fs::{File, OpenOptions},
    hash::{BuildHasher, RandomState},
    io::{self, IoSliceMut},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

/// How a read may proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadMode {
    /// From the page cache only, on a worker's thread.
    NonBlocking,
    /// May wait for the device, on a thread of the tier.
    Blocking,
}

/// Why bytes were not read.
#[derive(Debug)]
pub(super) enum Missed {
    /// They are not in the page cache.
    Waits,
    /// They are not those that were written, or not complete.
    Damaged,
    /// The device failed. It has been counted and reported already.
    Failed,
    /// The device is left alone since it failed. Nothing was read, so this says nothing of these bytes.
    Rests,
}

/// The directory, the threads that wait for the device, and its health.
#[derive(Debug)]
pub(super) struct Device {
    pub path: PathBuf,
    /// Drawn at random when the directory was made. Seeds the hashes of keys.
    pub seed: u64,
    pub readers: Pool,
    pub writers: Pool,
    pub queue: Queue,
    pub health: Health,
    pub bucket: Bucket,
    /// The same for what memory demotes.
    pub demotions: Bucket,
    pub counts: Counts,
    /// Whether the file system has no reads that do not wait.
    pub always_waits: AtomicBool,
    pub began: Instant,
}

impl Device {
    /// Fills `into` from `offset` of `file`, whose path is `path`.
    pub fn read(
        &self,
        file: &File,
        into: &mut [u8],
        offset: u64,
        mode: ReadMode,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), Missed> {
        if !self.health.may(Doing::Reading) {
            return Err(Missed::Rests);
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
            // The rest is not in the page cache, or the file ends: a blocking read will tell.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Err(Missed::Waits),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                self.always_waits.store(true, Relaxed);
                Err(Missed::Waits)
            }
            Err(error) => Ok(Err(error.into())),
        }
    }

    /// Seconds since the tier was opened, plus one.
    pub fn seconds(&self) -> u32 {
        let seconds = self.began.elapsed().as_secs().saturating_add(1);
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }

    /// Whether the byte at `offset` lies in the page cache.
    pub fn is_at_hand(&self, file: &File, offset: u64) -> bool {
        matches!(self.read_at_once(file, &mut [0], offset), Ok(Ok(())))
    }

    /// Counts a failure, and reports it if it is the first. If the file system or a quota has no room
    /// left, it also has room made, so that there is some for the next attempt.
    pub fn failed(&self, doing: Doing, file: &Path, error: &io::Error) {
        count(&self.counts.errors);
        self.health.failed(doing, file, error);
        match error.kind() {
            io::ErrorKind::StorageFull => self.tell_keeper(Task::Full),
            io::ErrorKind::QuotaExceeded => self.tell_keeper(Task::OverQuota),
            _ => {}
        }
    }

    /// Counts and reports bytes that are not those that were written: once, however many readers come upon them.
    pub fn damaged(&self, file: PathBuf, offset: u64) {
        if self.health.is_news(&file, offset) {
            count(&self.counts.damaged);
            self.health.tell(Event::Damaged { file, offset });
        }
    }

    /// Counts and reports segment `id`, which cannot be read or is damaged, and is given up with this many `older` ones.
    pub fn unreadable(&self, id: u32, error: &io::Error, older: usize) {
        let file = self.segment_path(id);
        if error.kind() == io::ErrorKind::InvalidData {
            count(&self.counts.damaged);
        } else {
            self.failed(Doing::Reading, &file, error);
        }
        self.health.tell(Event::Unreadable {
            file,
            error: error.to_string(),
            older,
        });
    }

    /// Queues a task for the keeper.
    pub fn tell_keeper(&self, task: Task) {
        self.queue.push(task);
    }

    /// The path of a segment's file.
    pub fn segment_path(&self, id: u32) -> PathBuf {
        self.path.join(segment_name(id))
    }

    /// The path of a large file.
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

/// Opens a file. Anything else of that name counts as not found, but for a folder, of which each read is an error. A pipe
/// is not waited for, as it is without `NONBLOCK`.
pub(super) fn open_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = options.custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::NotFound, "not a file"))
    }
}

/// Returns a number that nobody can guess. It is never zero.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now()) | 1
}
