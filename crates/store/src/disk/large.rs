//! Large bodies: a file each, in chunks that can be read and verified alone.

mod descriptor;
mod straight;
mod tail;
mod writer;
mod writing;

use super::{
    at_hand::AtHand,
    device::{Device, Missed, ReadMode},
    format::{FILE_HEAD, FileHead, Kind, SUM, large_sum},
    layout::{self, file_length},
    queue::Task,
    sound::Sound,
};
use descriptor::Descriptor;
use std::{
    fs::File,
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

/// A large file: being written, or whole.
#[derive(Debug)]
pub(super) struct Large {
    pub id: u64,
    pub nonce: u64,
    pub device: Arc<Device>,
    descriptor: Mutex<Descriptor>,
    /// Bytes of the body that can be read.
    readable: AtomicU64,
    /// It will never be whole, or what was written could not be read back.
    is_failed: AtomicBool,
    is_whole: AtomicBool,
    /// Whether a record names it.
    is_named: AtomicBool,
    /// It made room: its file has no name any more, and lasts for those who read it.
    is_removed: AtomicBool,
    /// Chunks that were read and found good, once it was whole.
    pub sound: Sound,
    at_hand: AtHand,
    tail: Mutex<Tail>,
}

impl Large {
    /// One that is to be written, with a body of `length` bytes if that is known.
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

    /// One that a record names, with a body of `length` bytes, and its file. A file of that number that is another (an old record may
    /// name one that went, and whose number was given out again) is as good as none.
    pub fn open(
        id: u64,
        nonce: u64,
        length: u64,
        device: Arc<Device>,
    ) -> io::Result<(Self, Arc<File>)> {
        let file = File::open(device.large_path(id))?;
        let mut head = [0; FILE_HEAD];
        file.read_exact_at(&mut head, 0)?;
        let named = FileHead {
            kind: Kind::Large,
            id,
            nonce,
            directory: device.seed,
        };
        if named.write() != head {
            return Err(io::ErrorKind::NotFound.into());
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

    /// Whether all of it is written.
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Acquire)
    }

    /// Whether it will never be whole, or could not be read back.
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Acquire)
    }

    /// Whether chunk `number` was verified since the program started.
    pub fn is_sound(&self, number: u64) -> bool {
        self.sound.has(number)
    }

    /// Whether all of it lay in the page cache a moment ago, when it was read last.
    pub fn was_at_hand(&self) -> bool {
        self.at_hand.is_fresh(self.device.seconds())
    }

    /// All of it lay in the page cache when it was read, which began at `second` of its device.
    pub fn see_at_hand(&self, second: u32) {
        self.at_hand.see(second);
    }

    /// The file, for who reads: it stays open as long as this is held. `None` where it is not made yet, or nobody has it open any more.
    pub fn file(&self) -> Option<Arc<File>> {
        self.descriptor().file()
    }

    /// A record names it: the file stays when nobody reads it any more. Its descriptor, which is in the hands of the caller from now on.
    pub fn name(&self) -> Option<Arc<File>> {
        self.is_named.store(true, Relaxed);
        self.descriptor().share()
    }

    /// It made room for others.
    pub fn leave(&self) {
        self.is_removed.store(true, Relaxed);
    }

    /// Whether it made room for others, or nobody has had it open lately: nobody is to begin to read it. Who began before goes on.
    pub fn is_gone(&self) -> bool {
        self.is_removed.load(Relaxed) || self.descriptor().is_left()
    }

    /// Reads chunk `number` of `file`, of `length` bytes, into `into`, which it fills.
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
            // Other bytes than were written, or none where the file was cut.
            Ok(()) | Err(Missed::Damaged) => {
                self.device.damaged(self.device.large_path(self.id), offset);
                self.device.tell_keeper(Task::LargeDamaged(self.id));
                Err(Missed::Damaged)
            }
            Err(missed) => Err(missed),
        }
    }

    /// It will never be whole, or cannot be read.
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
        // Closing the last descriptor of a file that is deleted gives its blocks back, which takes a while.
        if let Some(file) = self.file() {
            self.device.tell_keeper(Task::Left(file));
        }
    }
}
