//! A body that lies beside its head, in a record of a segment.

use super::{
    Doing,
    at_hand::AtHand,
    device::{Device, Missed, ReadMode},
    format::{CHUNK, RecordHead, is_chunk_sound, seed},
    index::{RecordPosition, Spot},
    queue::Task,
    segment::Segment,
    sound::Sound,
};
use bytes::Bytes;
use std::{
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// A body in a record that was not read with its head.
#[derive(Debug)]
pub(super) struct Inline {
    pub device: Arc<Device>,
    /// Weak, so that what memory holds keeps no evicted segment's file open.
    segment: Weak<Segment>,
    key: u64,
    place: RecordPosition,
    /// Where the body begins.
    body: u64,
    /// The checksums of the body's chunks.
    sums: Bytes,
    own: u64,
    /// Whether every chunk had been verified since the program started, when this was made.
    is_sound: bool,
    /// The chunks verified since then.
    sound: Sound,
    /// Whether the body could not be read.
    is_failed: AtomicBool,
    at_hand: AtHand,
}

impl Inline {
    /// Creates the body of the record at `spot`, whose head was read together with the checksums of its chunks.
    pub fn new(
        device: Arc<Device>,
        segment: &Arc<Segment>,
        spot: Spot,
        head: &RecordHead,
        sums: &[u8],
    ) -> Self {
        let offset = spot.place.offset();
        Self {
            device,
            segment: Arc::downgrade(segment),
            key: spot.key,
            place: spot.place,
            body: offset + head.meta() as u64,
            sums: Bytes::copy_from_slice(sums),
            own: seed(segment.nonce, offset),
            is_sound: spot.is_sound(),
            sound: Sound::default(),
            is_failed: AtomicBool::new(false),
            at_hand: AtHand::default(),
        }
    }

    /// Whether the body could not be read.
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Relaxed)
    }

    /// Notes that the body could not be read, or not to its end.
    pub fn fail(&self) {
        self.is_failed.store(true, Relaxed);
    }

    /// The segment, for readers: its file stays open as long as they hold this.
    pub fn segment(&self) -> Option<Arc<Segment>> {
        self.segment.upgrade()
    }

    /// Whether its segment was evicted. Those who began to read before can go on.
    pub fn is_gone(&self) -> bool {
        self.segment().is_none_or(|segment| segment.is_gone())
    }

    /// The path of its segment's file.
    pub fn path(&self) -> PathBuf {
        self.device.segment_path(self.place.segment())
    }

    /// Whether all of it was in the page cache a moment ago, when it was last read.
    pub fn was_at_hand(&self) -> bool {
        self.at_hand.is_fresh(self.device.seconds())
    }

    /// Notes that all of it was in the page cache at `second`, and is read. If it had been seen there before, the index
    /// is told of the use, because it has not been asked since.
    pub fn see_at_hand(&self, second: u32) {
        if self.at_hand.see(second) {
            self.device.tell_keeper(Task::Used(self.key, self.place));
        }
    }

    /// Where chunk `number` begins in the file.
    pub fn offset(&self, number: u64) -> u64 {
        self.body
            .saturating_add(number.saturating_mul(CHUNK as u64))
    }

    /// Whether chunk `number` was verified since the program started.
    pub fn is_sound(&self, number: u64) -> bool {
        self.is_sound || self.sound.has(number)
    }

    /// Notes that chunk `number` of the `whole` bytes was verified. Once all are, the index is told.
    pub fn mark(&self, number: u64, whole: u64) {
        if !self.is_sound && self.sound.mark(number, whole) {
            self.device.tell_keeper(Task::Sound(self.key, self.place));
        }
    }

    /// Reads chunk `number` into `into`, which it fills. If that fails, the record is forgotten, unless the device is
    /// out of order.
    pub fn read(
        &self,
        file: &File,
        number: u64,
        into: &mut [u8],
        mode: ReadMode,
    ) -> Result<(), Missed> {
        let read = self.read_sound(file, number, into, mode);
        if matches!(read, Err(Missed::Damaged | Missed::Failed)) {
            self.fail();
            if self.device.health.may(Doing::Reading) {
                self.device.tell_keeper(Task::Damaged(self.key, self.place));
            }
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
        let offset = self.offset(number);
        let read = self.device.read(file, into, offset, mode, || self.path());
        match read {
            Ok(()) if is_chunk_sound(into, &self.sums, number as usize, self.own) => Ok(()),
            // The bytes are not those that were written, or are missing because the file was cut.
            Ok(()) | Err(Missed::Damaged) => {
                self.device.damaged(self.path(), offset);
                Err(Missed::Damaged)
            }
            Err(missed) => Err(missed),
        }
    }
}
