//! Large bodies: one file each, in chunks that can be read and verified alone.

mod descriptor;
mod straight;
mod tail;
mod writer;
mod writing;

use super::{
    at_hand::AtHand,
    device::{Device, Missed, ReadMode, open_file},
    format::{Beginning, FILE_HEAD, FileHead, Kind, SUM, large_sum},
    layout::{self, file_length},
    queue::Task,
    sound::Sound,
};
use descriptor::Descriptor;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};
use tail::{Tail, wake};

pub use writer::Writer;

/// A large file: being written, or complete.
#[derive(Debug)]
pub(super) struct Large {
    pub id: u64,
    pub nonce: u64,
    pub device: Arc<Device>,
    descriptor: Mutex<Descriptor>,
    /// Bytes of the body that can be read.
    readable: AtomicU64,
    /// Whether it will never be complete, or could not be read back.
    is_failed: AtomicBool,
    is_whole: AtomicBool,
    /// Whether a record names the file.
    is_named: AtomicBool,
    /// Whether it was evicted: its file has no name any more, and lasts for those who read it.
    is_removed: AtomicBool,
    /// The chunks that were verified since the file was complete.
    pub sound: Sound,
    at_hand: AtHand,
    tail: Mutex<Tail>,
}

impl Large {
    /// Creates a file that is to be written, for a body of `length` bytes if that is known.
    pub fn new(id: u64, nonce: u64, length: Option<u64>, device: Arc<Device>) -> Self {
        Self {
            id,
            nonce,
            device,
            descriptor: Mutex::default(),
            readable: AtomicU64::new(0),
            is_failed: AtomicBool::new(false),
            is_whole: AtomicBool::new(false),
            is_named: AtomicBool::new(false),
            is_removed: AtomicBool::new(false),
            sound: Sound::default(),
            at_hand: AtHand::default(),
            tail: Mutex::new(Tail::new(length.map(file_length))),
        }
    }

    /// Opens a file that a record names, with a body of `length` bytes. Returns the file too.
    ///
    /// # Errors
    /// Those of the device. `NotFound` also for another file of that number: an old record may name one that went, and
    /// whose number was given out again. `InvalidData` or `UnexpectedEof`: its header is not what was written.
    pub fn open(
        id: u64,
        nonce: u64,
        length: u64,
        device: Arc<Device>,
    ) -> io::Result<(Self, Arc<File>)> {
        let file = open_file(OpenOptions::new().read(true), &device.large_path(id))?;
        let mut head = [0; FILE_HEAD];
        file.read_exact_at(&mut head, 0)?;
        let named = FileHead {
            kind: Kind::Large,
            id,
            nonce,
            directory: device.seed,
        };
        match named.compare(&head) {
            Beginning::Expected => {}
            Beginning::Another => return Err(io::ErrorKind::NotFound.into()),
            Beginning::Damaged => return Err(io::ErrorKind::InvalidData.into()),
        }
        let (large, file) = (Self::new(id, nonce, None, device), Arc::new(file));
        *large.descriptor() = Descriptor::Shared(Arc::downgrade(&file));
        large.readable.store(length, Relaxed);
        large.is_whole.store(true, Relaxed);
        large.is_named.store(true, Relaxed);
        Ok((large, file))
    }

    /// Bytes of the body that can be read.
    pub fn readable(&self) -> u64 {
        self.readable.load(Acquire)
    }

    /// Whether the whole file is written.
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Acquire)
    }

    /// Whether it will never be complete, or could not be read back.
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Acquire)
    }

    /// Whether chunk `number` was verified since the program started.
    pub fn is_sound(&self, number: u64) -> bool {
        self.sound.has(number)
    }

    /// Whether all of it was in the page cache a moment ago, when it was last read.
    pub fn was_at_hand(&self) -> bool {
        self.at_hand.is_fresh(self.device.seconds())
    }

    /// Notes that all of it was in the page cache when it was read. The read began at `second` of the device.
    pub fn see_at_hand(&self, second: u32) {
        self.at_hand.see(second);
    }

    /// The file, for readers: it stays open as long as they hold this. `None` if it is not made yet, or nobody has it
    /// open any longer.
    pub fn file(&self) -> Option<Arc<File>> {
        self.descriptor().file()
    }

    /// Notes that a record names the file, which now stays when nobody reads it. Returns the open file, which the
    /// caller must keep open from now on.
    pub fn name(&self) -> Option<Arc<File>> {
        self.is_named.store(true, Relaxed);
        self.descriptor().share()
    }

    /// Notes that it was evicted.
    pub fn leave(&self) {
        self.is_removed.store(true, Relaxed);
    }

    /// Whether it was evicted, or nobody has had it open lately: then nobody may begin to read it. Those who began
    /// before can go on.
    pub fn is_gone(&self) -> bool {
        self.is_removed.load(Relaxed) || self.descriptor().is_left()
    }

    /// Reads chunk `number` of `file` into `into`, which it fills.
    pub fn read(
        &self,
        file: &File,
        number: u64,
        into: &mut [u8],
        mode: ReadMode,
    ) -> Result<(), Missed> {
        let read = self.read_sound(file, number, into, mode);
        if matches!(read, Err(Missed::Damaged | Missed::Failed)) && !self.is_failed() {
            self.fail();
        }
        read
    }

    fn read_sound(
        &self,
        file: &File,
        number: u64,
        into: &mut [u8],
        mode: ReadMode,
    ) -> Result<(), Missed> {
        let offset = layout::offset(number);
        let read = |into: &mut [u8], offset| {
            let path = || self.device.large_path(self.id);
            self.device.read(file, into, offset, mode, path)
        };
        let mut sum = [0; SUM];
        let read = read(&mut sum, layout::sum_offset(number)).and_then(|()| read(into, offset));
        match read {
            Ok(()) if large_sum(into, self.nonce, number) == sum => Ok(()),
            // The bytes are not those that were written, or are missing because the file was cut.
            Ok(()) | Err(Missed::Damaged) => {
                self.device.damaged(self.device.large_path(self.id), offset);
                self.device.tell_keeper(Task::LargeDamaged(self.id));
                Err(Missed::Damaged)
            }
            Err(missed) => Err(missed),
        }
    }

    /// Notes that it will never be complete, or cannot be read.
    pub fn fail(&self) {
        self.is_failed.store(true, Release);
        let mut tail = self.tail();
        tail.is_busy = false;
        tail.pieces.clear();
        tail.bytes = 0;
        wake(tail);
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn descriptor(&self) -> MutexGuard<'_, Descriptor> {
        let descriptor = self.descriptor.lock();
        descriptor.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        if self.is_named.load(Relaxed) {
            return;
        }
        self.device.tell_keeper(Task::Unnamed(self.id));
        // Closing the last descriptor of a deleted file gives its blocks back, which takes a while.
        if let Some(file) = self.file() {
            self.device.tell_keeper(Task::LetGo(file));
        }
    }
}
