//! Large bodies: a file each, in chunks that can be read and verified alone.

mod writer;

use super::{
    Failed,
    device::{Device, Manner, Missed},
    format::{CHUNK, FILE_HEAD, FileHead, Kind, SUM, large_sum},
    health::Doing,
    layout::{self, file_length},
    queue::Task,
    sound::Sound,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
        mpsc::sync_channel,
    },
    task::{Context, Poll, Waker},
};

pub use writer::Writer;

/// At most so many bytes wait to be written, beside the piece that was pushed last.
const MOST_WAITING: usize = 1 << 20;

/// Room for so much is asked for at a time.
const ROOM: u64 = 8 << 20;

/// What is still to be written.
#[derive(Debug, Default)]
struct Tail {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// No more pieces come: what is left is the last chunk.
    is_last: bool,
    /// A thread writes.
    is_busy: bool,
    /// Bytes of the file there is room for.
    room: u64,
    /// Bytes the file will have, as far as the origin tells the truth.
    announced: Option<u64>,
    /// Those who wait for room in `pieces`, or for bytes to be readable.
    wakers: Vec<Waker>,
}

impl Tail {
    /// Has the task woken when something changes; one that asks again and again is noted once.
    fn wait(&mut self, context: &Context<'_>) {
        let waker = context.waker();
        if !self.wakers.iter().any(|noted| noted.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }
}

/// A large file: being written, or whole.
#[derive(Debug)]
pub(super) struct Large {
    pub id: u64,
    pub nonce: u64,
    pub device: Arc<Device>,
    file: OnceLock<File>,
    /// Bytes of the body that can be read.
    readable: AtomicU64,
    /// It will never be whole, or what was written could not be read back.
    is_failed: AtomicBool,
    is_whole: AtomicBool,
    /// Whether a record names it.
    is_named: AtomicBool,
    /// Chunks that were read and found good, once it was whole.
    pub sound: Sound,
    tail: Mutex<Tail>,
}

impl Large {
    /// One that is to be written, with a body of `length` bytes if that is known.
    pub fn new(id: u64, nonce: u64, length: Option<u64>, device: Arc<Device>) -> Self {
        Self {
            id,
            nonce,
            device,
            file: OnceLock::new(),
            readable: AtomicU64::new(0),
            is_failed: AtomicBool::new(false),
            is_whole: AtomicBool::new(false),
            is_named: AtomicBool::new(false),
            sound: Sound::default(),
            tail: Mutex::new(Tail {
                announced: length.map(file_length),
                ..Tail::default()
            }),
        }
    }

    /// One that a record names, with a body of `length` bytes. A file of that number that is another (an old record may name
    /// one that went, and whose number was given out again) is as good as none.
    pub fn open(id: u64, nonce: u64, length: u64, device: Arc<Device>) -> io::Result<Self> {
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
        let large = Self::new(id, nonce, None, device);
        let _ = large.file.set(file);
        large.readable.store(length, Relaxed);
        large.is_whole.store(true, Relaxed);
        large.is_named.store(true, Relaxed);
        Ok(large)
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

    /// The file; `None` where it is not made yet.
    pub fn file(&self) -> Option<&File> {
        self.file.get()
    }

    /// A record names it: the file stays when nobody reads it any more.
    pub fn name(&self) {
        self.is_named.store(true, Relaxed);
    }

    /// Whether the chunk that ends at `end` can be read; `context` is woken when that may have changed.
    pub fn poll_readable(&self, end: u64, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        if self.readable() >= end {
            return Poll::Ready(Ok(()));
        }
        let mut tail = self.tail();
        if self.readable() >= end {
            return Poll::Ready(Ok(()));
        }
        if self.is_failed() {
            return Poll::Ready(Err(Failed));
        }
        tail.wait(context);
        Poll::Pending
    }

    /// Reads chunk `number`, of `length` bytes, into `into`, which it fills.
    pub fn read(&self, number: u64, into: &mut [u8], manner: Manner) -> Result<(), Missed> {
        let read = self.read_sound(number, into, manner);
        if matches!(read, Err(Missed::Damaged | Missed::Failed)) && !self.is_failed() {
            self.fail();
        }
        read
    }

    fn read_sound(&self, number: u64, into: &mut [u8], manner: Manner) -> Result<(), Missed> {
        let Some(file) = self.file.get() else {
            return Err(Missed::Waits);
        };
        let offset = layout::offset(number);
        let path = || self.device.large_path(self.id);
        let mut sum = [0; SUM];
        self.device
            .read(file, &mut sum, layout::sum_offset(number), manner, path)?;
        self.device.read(file, into, offset, manner, path)?;
        if large_sum(into, self.nonce, number) == sum {
            return Ok(());
        }
        self.device.damaged(path(), offset);
        self.device.tell_keeper(Task::LargeDamaged(self.id));
        Err(Missed::Damaged)
    }

    /// Writes what waits, as far as it makes whole chunks. On a thread of the tier.
    fn write(&self) {
        loop {
            let Some((chunks, is_last)) = self.take() else {
                return;
            };
            let written = chunks
                .chunks(CHUNK)
                .try_for_each(|chunk| self.write_chunk(chunk));
            if let Err(error) = written {
                if let Some(error) = error {
                    let path = self.device.large_path(self.id);
                    self.device.failed(Doing::Writing, &path, &error);
                }
                return self.fail();
            }
            self.device.health.worked(Doing::Writing);
            self.advance(is_last);
        }
    }

    /// Writes a body of which all is here, on the calling thread: there is room for so many `bytes` of the file.
    pub fn straight(&self, bytes: u64) -> Straight<'_> {
        self.tail().room = bytes;
        Straight {
            large: self,
            chunk: Vec::with_capacity(CHUNK),
        }
    }

    /// What can be written now; `None` where that is nothing, and the thread is done.
    fn take(&self) -> Option<(Vec<u8>, bool)> {
        let mut tail = self.tail();
        let bytes = if tail.is_last {
            tail.bytes
        } else {
            tail.bytes - tail.bytes % CHUNK
        };
        if (bytes == 0 && !tail.is_last) || self.is_failed() || self.is_whole() {
            tail.is_busy = false;
            return None;
        }
        let mut out = Vec::with_capacity(bytes);
        while out.len() < bytes
            && let Some(mut piece) = tail.pieces.pop_front()
        {
            let rest = piece.split_off(piece.len().min(bytes - out.len()));
            out.extend_from_slice(&piece);
            if !rest.is_empty() {
                tail.pieces.push_front(rest);
            }
        }
        tail.bytes -= out.len();
        let is_last = tail.is_last;
        wake(tail);
        Some((out, is_last))
    }

    /// Writes one chunk behind the others. The error is the device's; without one there is no room.
    fn write_chunk(&self, chunk: &[u8]) -> Result<(), Option<io::Error>> {
        let readable = self.readable.load(Relaxed);
        let number = readable / CHUNK as u64;
        let end = readable + chunk.len() as u64;
        self.reserve(file_length(end)).then_some(()).ok_or(None)?;
        let file = self.made()?;
        file.write_all_at(chunk, layout::offset(number))?;
        let sum = large_sum(chunk, self.nonce, number);
        file.write_all_at(&sum, layout::sum_offset(number))?;
        let written = &self.device.counts.bytes_written;
        written.fetch_add((chunk.len() + sum.len()) as u64, Relaxed);
        self.readable.store(end, Release);
        Ok(())
    }

    /// The file, made when it is first needed.
    fn made(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.open(self.device.large_path(self.id))?;
        let head = FileHead {
            kind: Kind::Large,
            id: self.id,
            nonce: self.nonce,
            directory: self.device.seed,
        };
        file.write_all_at(&head.write(), 0)?;
        Ok(self.file.get_or_init(|| file))
    }

    /// Has room made for a file of `length` bytes.
    fn reserve(&self, length: u64) -> bool {
        let tail = self.tail();
        let (room, is_last, announced) = (tail.room, tail.is_last, tail.announced);
        drop(tail);
        if length <= room {
            return true;
        }
        let ahead = ROOM.max(length - room);
        let step = match announced {
            _ if is_last => length - room,
            Some(all) if all >= length => ahead.min(all - room),
            _ => ahead,
        };
        let has_room = |bytes| {
            let (answer, told) = sync_channel(1);
            self.device.tell_keeper(Task::Room(self.id, bytes, answer));
            told.recv() == Ok(true)
        };
        let got = [step, length - room]
            .into_iter()
            .find(|bytes| has_room(*bytes));
        self.tail().room = room + got.unwrap_or(0);
        got.is_some()
    }

    /// Gives back the room that was not needed.
    fn give_back(&self) {
        let mut tail = self.tail();
        let needed = file_length(self.readable()).min(tail.room);
        let spare = tail.room - needed;
        tail.room = needed;
        drop(tail);
        if spare > 0 {
            self.device.tell_keeper(Task::Spare(self.id, spare));
        }
    }

    fn advance(&self, is_last: bool) {
        if is_last {
            self.is_whole.store(true, Release);
            self.give_back();
        }
        wake(self.tail());
        if is_last {
            self.device.tell_keeper(Task::Whole);
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
        self.device.tell_keeper(Task::Whole);
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a body of which all is here.
pub(super) struct Straight<'a> {
    large: &'a Large,
    chunk: Vec<u8>,
}

impl Straight<'_> {
    pub fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
            if self.chunk.len() == CHUNK {
                self.write()?;
            }
        }
        Ok(())
    }

    /// The body is complete.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.chunk.is_empty() {
            self.write()?;
        }
        self.large.is_whole.store(true, Release);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.large.write_chunk(&self.chunk);
        self.chunk.clear();
        written.map_err(|error| error.unwrap_or_else(|| io::ErrorKind::QuotaExceeded.into()))
    }
}

fn wake(mut tail: MutexGuard<'_, Tail>) {
    let wakers = std::mem::take(&mut tail.wakers);
    drop(tail);
    wakers.into_iter().for_each(Waker::wake);
}

impl Drop for Large {
    fn drop(&mut self) {
        if !self.is_named.load(Relaxed) {
            self.device.tell_keeper(Task::Unnamed(self.id));
        }
        // Closing the last descriptor of a file that is deleted gives its blocks back, which takes a while.
        if let Some(file) = self.file.take() {
            self.device.tell_keeper(Task::Close(file));
        }
    }
}
