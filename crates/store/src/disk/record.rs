//! Reading records: a head, and a body beside it or in a file of its own.

use super::{
    Doing, Shared,
    device::{Device, Manner, Missed},
    format::{ALIGN, CHUNK, RECORD_HEAD, RecordHead, is_chunk_sound, seed},
    index::{Place, Spot},
    large::Large,
    ondisk::OnDisk,
    queue::Task,
    segment::Segment,
    sound::Sound,
    span::AT_HAND_SECONDS,
};
use crate::{
    Body, Fields, Parts, Piece, Stored,
    codec::{Layout, View},
};
use bytes::Bytes;
use rules::range::Span;
use std::{
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

/// Records up to this size are read whole, with their body; of others the head alone.
const WHOLE: usize = (256 << 10) + 4096;
/// As [`WHOLE`], where bodies are left on disk: what is smaller is read sooner than sent from its file.
const SMALL: usize = (16 << 10) + 4096;
/// What is read of a record to have its head; where that is longer, it is read again.
const GUESS: usize = 4096;

/// The body of a record that is not read with its head.
#[derive(Debug)]
pub(super) struct Inline {
    pub device: Arc<Device>,
    /// What memory holds keeps no file open that has made room for others.
    segment: Weak<Segment>,
    key: u64,
    place: Place,
    /// Where the body begins.
    body: u64,
    /// The checksums of its chunks.
    sums: Bytes,
    own: u64,
    /// Every chunk was verified before, since the program started.
    is_sound: bool,
    /// Chunks that were verified since.
    sound: Sound,
    /// It could not be read.
    is_failed: AtomicBool,
    /// When all of it lay in the page cache, by [`Device::seconds`]; 0: not looked at.
    seen: AtomicU32,
}

/// What becomes of bodies of middle size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They are read into memory with their heads.
    Read,
    /// They stay on disk, to be sent from there.
    Left,
}

impl Inline {
    /// Whether it could not be read.
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Relaxed)
    }

    /// It could not be read, or not to its end.
    pub fn fail(&self) {
        self.is_failed.store(true, Relaxed);
    }

    /// The segment, for who reads: its file stays open as long as this is held.
    pub fn segment(&self) -> Option<Arc<Segment>> {
        self.segment.upgrade()
    }

    /// Whether its segment has made room for others. Who began to read before goes on.
    pub fn is_gone(&self) -> bool {
        self.segment().is_none_or(|segment| segment.is_gone())
    }

    pub fn path(&self) -> PathBuf {
        self.device.segment_path(self.place.segment())
    }

    /// Whether all of it lay in the page cache a moment ago, when it was read last.
    pub fn was_at_hand(&self) -> bool {
        let seen = self.seen.load(Relaxed);
        seen != 0 && self.device.seconds().saturating_sub(seen) < AT_HAND_SECONDS
    }

    /// All of it lies in the page cache, and is about to be read. Where that was so before, the index is told of the use: it has
    /// not been asked since.
    pub fn see_at_hand(&self) {
        if self.seen.swap(self.device.seconds(), Relaxed) != 0 {
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

    /// Chunk `number` of the `whole` bytes was verified. Once all were, the index knows.
    pub fn mark(&self, number: u64, whole: u64) {
        if !self.is_sound && self.sound.mark(number, whole) {
            self.device.tell_keeper(Task::Sound(self.key, self.place));
        }
    }

    /// Reads chunk `number` into `into`, which it fills. Where that fails, the record is forgotten, unless it is the device
    /// that is out of order.
    pub fn read(
        &self,
        file: &File,
        number: u64,
        into: &mut [u8],
        manner: Manner,
    ) -> Result<(), Missed> {
        let read = self.read_sound(file, number, into, manner);
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
        manner: Manner,
    ) -> Result<(), Missed> {
        let offset = self.offset(number);
        self.device
            .read(file, into, offset, manner, || self.path())?;
        if is_chunk_sound(into, &self.sums, number as usize, self.own) {
            return Ok(());
        }
        self.device.damaged(self.path(), offset);
        Err(Missed::Damaged)
    }
}

/// A record that was read, and is sound as far as it was.
struct Record {
    segment: Arc<Segment>,
    spot: Spot,
    head: RecordHead,
    bytes: Bytes,
}

impl Shared {
    /// The stored response at `spot`; `None` where it is that of another key, or gone.
    pub fn read(
        &self,
        key: &[u8],
        spot: Spot,
        manner: Manner,
        bodies: Bodies,
    ) -> Result<Option<Stored>, Missed> {
        let Some(segment) = self.segment(spot.place.segment()) else {
            return Ok(None);
        };
        let read = self
            .record(segment.clone(), spot, manner, bodies)
            .and_then(|record| self.stored(key, &record, manner));
        if matches!(read, Err(Missed::Damaged)) {
            let path = self.device.segment_path(segment.id);
            self.device.damaged(path, spot.place.offset());
            self.forget(spot);
        }
        read
    }

    /// The stored response at `spot`, and its key.
    pub fn reread(&self, spot: Spot) -> Result<(Box<[u8]>, Stored), Missed> {
        let segment = self.segment(spot.place.segment()).ok_or(Missed::Damaged)?;
        let record = self.record(segment, spot, Manner::Waiting, Bodies::Read)?;
        let head = record.bytes.get(RECORD_HEAD..record.head.sums());
        let view = View::parse(head.unwrap_or_default()).map_err(|_| Missed::Damaged)?;
        let stored = self.stored(view.key, &record, Manner::Waiting)?;
        stored
            .map(|stored| (view.key.into(), stored))
            .ok_or(Missed::Damaged)
    }

    /// Reads the record at `spot`: all of it where that is little, otherwise all before its body.
    fn record(
        &self,
        segment: Arc<Segment>,
        spot: Spot,
        manner: Manner,
        bodies: Bodies,
    ) -> Result<Record, Missed> {
        let (size, offset) = (spot.size(), spot.place.offset());
        let fill = |length: usize| {
            let mut bytes = vec![0; length];
            let path = || self.device.segment_path(segment.id);
            self.device
                .read(&segment.file, &mut bytes, offset, manner, path)?;
            Ok(bytes)
        };
        let most = match bodies {
            Bodies::Read => WHOLE,
            Bodies::Left => SMALL,
        };
        let first = if size <= most { size } else { GUESS };
        let mut bytes = fill(first)?;
        let head = RecordHead::read(&bytes).ok_or(Missed::Damaged)?;
        let is_it = head.key == spot.key
            && head.size() == size as u64
            && (head.large != 0) == spot.is_large();
        if !is_it {
            return Err(Missed::Damaged);
        }
        if head.meta() > bytes.len() {
            bytes = fill(head.meta())?;
        }
        if !head.is_sound(&bytes, segment.nonce, offset) {
            return Err(Missed::Damaged);
        }
        Ok(Record {
            segment,
            spot,
            head,
            bytes: bytes.into(),
        })
    }

    fn stored(
        &self,
        key: &[u8],
        record: &Record,
        manner: Manner,
    ) -> Result<Option<Stored>, Missed> {
        let head = record.bytes.get(RECORD_HEAD..record.head.sums());
        let view = View::parse(head.unwrap_or_default()).map_err(|_| Missed::Damaged)?;
        if view.layout.stored() != record.head.body {
            return Err(Missed::Damaged);
        }
        if view.key != key {
            return Ok(None);
        }
        let piece = self.piece(record, manner)?;
        let fields = record.bytes.slice_ref(view.fields);
        let fields = match &piece {
            // They share the allocation with the body.
            Piece::Memory(_) => Fields::from_packed(fields),
            Piece::Disk(_) => Fields::from_packed(fields).map(|fields| fields.detached()),
        };
        let fields = fields.ok_or(Missed::Damaged)?;
        let checked = self.checked(&record.segment, view.checked);
        let body = laid_out(&view.layout, piece).ok_or(Missed::Damaged)?;
        let marks = self.log.tags().marks(view.tags, checked);
        let stored = Stored::new(
            checked,
            view.status,
            fields,
            view.facts,
            view.variant,
            marks,
            body,
        );
        Ok(Some(stored.with_uses(view.uses)))
    }

    /// The body of a record: in memory where it was read with its head.
    fn piece(&self, record: &Record, manner: Manner) -> Result<Piece, Missed> {
        let (head, offset) = (&record.head, record.spot.place.offset());
        if head.large != 0 {
            let large = self.large(head.large, head.nonce, head.body, manner)?;
            return Ok(OnDisk::large(large, head.body).into());
        }
        let own = seed(record.segment.nonce, offset);
        let sums = head.sums()..head.meta();
        let end = head.meta() + head.inline();
        if record.bytes.len() < end {
            let inline = Inline {
                device: self.device.clone(),
                segment: Arc::downgrade(&record.segment),
                key: head.key,
                place: record.spot.place,
                body: offset + head.meta() as u64,
                sums: Bytes::copy_from_slice(record.bytes.get(sums).unwrap_or_default()),
                own,
                is_sound: record.spot.is_sound(),
                sound: Sound::default(),
                is_failed: AtomicBool::new(false),
                seen: AtomicU32::new(0),
            };
            return Ok(OnDisk::inline(Arc::new(inline), head.body).into());
        }
        let body = record.bytes.slice(head.meta()..end);
        let sums = record.bytes.get(sums).unwrap_or_default();
        let mut chunks = body.chunks(CHUNK).enumerate();
        let is_sound = chunks.all(|(number, chunk)| is_chunk_sound(chunk, sums, number, own));
        is_sound.then(|| body.into()).ok_or(Missed::Damaged)
    }

    /// The large file `id`, opened where nobody has it open; that may wait.
    fn large(
        &self,
        id: u64,
        nonce: u64,
        length: u64,
        manner: Manner,
    ) -> Result<Arc<Large>, Missed> {
        if let Some(large) = self.open_files.get(id) {
            let is_it = large.nonce == nonce && large.readable() >= length;
            return is_it.then_some(large).ok_or(Missed::Damaged);
        }
        if manner == Manner::AtOnce {
            return Err(Missed::Waits);
        }
        match Large::open(id, nonce, length, self.device.clone()) {
            Ok(large) => Ok(self.open_files.put(Arc::new(large))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Missed::Damaged),
            Err(error) => {
                let path = self.device.large_path(id);
                self.device.failed(Doing::Reading, &path, &error);
                Err(Missed::Failed)
            }
        }
    }

    /// Up to which number of this node's log a record is known to be good.
    fn checked(&self, segment: &Segment, written: u64) -> u64 {
        // What another run wrote may be ahead of a log that did not survive as far. Where that stands at nothing that survived,
        // this lies below all of it; where it did survive, this run began above all that was written, and it changes nothing.
        if segment.id < self.first_segment {
            written.min(self.began.saturating_sub(1))
        } else {
            written
        }
    }

    /// The record at `spot` is not to be found any more.
    pub fn forget(&self, spot: Spot) {
        let gone = self.index.remove(spot.key, spot.place);
        if gone.is_some_and(|gone| gone.is_large()) {
            self.device.tell_keeper(Task::Forgotten(spot.place));
        }
    }

    /// The open segment of that number.
    pub fn segment(&self, id: u32) -> Option<Arc<Segment>> {
        self.segments().get(&id).cloned()
    }

    /// The number of the log that everything in any segment was checked up to at least.
    pub fn oldest_in_segments(&self) -> Option<u64> {
        let segments = self.segments();
        let all = segments.values();
        all.map(|segment| self.checked(segment, segment.checked.load(Relaxed)))
            .min()
    }
}

/// The body that `piece` holds.
fn laid_out(layout: &Layout, piece: Piece) -> Option<Body> {
    let Layout::Parts { length, parts } = layout else {
        return Some(piece.into());
    };
    let mut at = 0;
    let cut = |(first, length): &(u64, u64)| {
        let span = Span {
            first: at,
            last: at + length.checked_sub(1)?,
        };
        at += length;
        let part = match &piece {
            Piece::Memory(bytes) => {
                let (from, to) = (span.first as usize, at as usize);
                Piece::from(bytes.get(from..to).map(|part| bytes.slice_ref(part))?)
            }
            Piece::Disk(bytes) => Piece::from(bytes.slice(span)?),
        };
        Some((*first, part))
    };
    let parts = parts.iter().map(cut).collect::<Option<_>>()?;
    Parts::from_pieces(*length, parts).map(|parts| Body::Parts(Arc::new(parts)))
}

/// The place of what begins at `offset`.
pub(super) fn place(segment: u32, offset: u64) -> Place {
    Place::new(segment, (offset / ALIGN) as u32)
}
