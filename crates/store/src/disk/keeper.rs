//! The one thread that writes segments, and makes room.

mod room;

use super::{
    Doing, Shared,
    files::Ledger,
    format::{ALIGN, ENTRY, Entry, FILE_HEAD, MOST_HEAD, RecordHead, TRAILER},
    health::count,
    index::{NO_VARIANT, Place, Spot},
    large::Large,
    ondisk::OnDisk,
    queue::{Next, Offer, Task},
    segment::Segment,
};
use crate::{Body, Piece, Stored, Variant, codec, purge::Standing};
use bytes::Bytes;
use std::{
    fs,
    io::{self, Error, ErrorKind},
    os::unix::fs::FileExt,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::Xxh3;

/// A segment holds no more records than this: their index is kept until it is sealed.
const MOST_RECORDS: usize = 1 << 16;

/// Removed segments stay open for so long, and are looked at so often: who has found a response there begins to read it by then.
const LEAVING: Duration = Duration::from_secs(2);

/// The segment that records are appended to.
struct Open {
    segment: Arc<Segment>,
    /// Where the next record begins.
    at: u64,
    entries: Vec<Entry>,
}

/// The thread's own state.
pub(super) struct Keeper {
    pub shared: Arc<Shared>,
    open: Option<Open>,
    /// The number of the next segment.
    next: u32,
    /// Bytes of all files.
    pub total: u64,
    pub ledger: Ledger,
    /// Segments that were removed, each with when that was: they may still be read, also by who has found a response there and has
    /// not begun. Whoever lets go of a file last gives its blocks back, which takes a while: that is to be this thread and no
    /// worker.
    leaving: Vec<(Instant, Arc<Segment>)>,
}

/// What a record is to hold.
enum Content {
    /// The body itself.
    Inline(Vec<u8>),
    /// The name of the file with the body.
    Large(Arc<Large>, u64),
}

/// Why a record was not written.
enum Refused {
    /// It is not worth it, or there is no room; nothing is wrong.
    Unfit,
    /// The device failed.
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Keeper {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            open: None,
            next: shared.first_segment,
            total: 0,
            ledger: Ledger::default(),
            leaving: Vec::new(),
            shared,
        }
    }

    /// A large file was found.
    pub fn found_large(&mut self, id: u64, bytes: u64) {
        self.ledger.grow(id, bytes);
        self.total += bytes;
    }

    /// Loads what is in `segments`, then does what is asked for until the tier is closed.
    pub fn run(mut self, segments: Vec<u32>) {
        self.load(segments);
        loop {
            let patience = (!self.leaving.is_empty()).then_some(LEAVING);
            match self.shared.device.queue.next(patience) {
                Next::Task(task) => self.act(task),
                Next::Quiet => {}
                Next::Closed => break,
            }
            self.leaving.retain(|(left, segment)| {
                left.elapsed() < LEAVING || Arc::strong_count(segment) > 1
            });
            self.shared.total.store(self.total, Relaxed);
            self.shared.large.store(self.ledger.count(), Relaxed);
        }
        // Sealed, its index need not be made out again; where that fails, it will be.
        let _ = self.seal();
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Store(offer) => self.store(offer),
            Task::Damaged(key, place) => {
                if let Some(spot) = self.shared.index.at(key, place) {
                    self.shared.forget(spot);
                }
            }
            Task::Sound(key, place) => self.shared.index.mark_sound(key, place),
            Task::Used(key, place) => self.shared.index.mark_used(key, place),
            Task::LargeDamaged(id) => {
                self.shared.open_files.remove(id);
                for (place, key) in self.ledger.naming(id) {
                    self.shared.index.remove(key, place);
                    self.unname(place);
                }
            }
            Task::Forgotten(place) => self.unname(place),
            Task::Room(id, bytes, answer) => {
                let has_room = self.make_room(bytes);
                if has_room {
                    self.ledger.grow(id, bytes);
                    self.total += bytes;
                }
                // Who asked may have gone with the tier.
                let _ = answer.send(has_room);
            }
            Task::Spare(id, bytes) => {
                self.total = self.total.saturating_sub(self.ledger.shrink(id, bytes));
            }
            Task::Whole => self.shared.device.queue.resume(),
            Task::Close(file) => drop(file),
            Task::Unnamed(id) => {
                if let Some(bytes) = self.ledger.drop_unnamed(id) {
                    self.remove_large(id, bytes);
                }
            }
            Task::Flush(answer) => {
                let _ = answer.send(());
            }
        }
    }

    fn store(&mut self, offer: Offer) {
        // Parts, too, may lie in a file that is still being written.
        let pieces = pieces(&offer.stored.body).unwrap_or_default();
        let is_coming = |piece: &Piece| matches!(piece, Piece::Disk(bytes) if bytes.is_coming());
        if pieces.iter().any(is_coming) {
            self.shared.device.queue.postpone(offer);
            return;
        }
        match self.write(&offer) {
            Ok(()) => {
                count(&self.shared.device.counts.writes);
                self.shared.device.health.worked(Doing::Writing);
            }
            Err(Refused::Unfit) => count(&self.shared.device.counts.refused),
            Err(Refused::Failed(error)) => {
                count(&self.shared.device.counts.refused);
                self.failed(&error);
            }
        }
    }

    /// Counts a failed write. Where the device is full, the oldest goes, so that there is room when it is tried again.
    fn failed(&mut self, error: &Error) {
        let path = &self.shared.device.path;
        self.shared.device.failed(Doing::Writing, path, error);
        if error.kind() == ErrorKind::StorageFull {
            self.evict(false);
        }
    }

    fn write(&mut self, offer: &Offer) -> Result<(), Refused> {
        let Offer { key, stored, .. } = offer;
        if self.shared.log.standing(key, stored) == Standing::Gone {
            return Err(Refused::Unfit);
        }
        let content = self.content(stored)?;
        self.append(key, stored, &content, false)
    }

    /// What the record of `stored` is to hold; a large body that is not in a file yet is written to one.
    fn content(&mut self, stored: &Stored) -> Result<Content, Refused> {
        if let Body::Disk(bytes) = &stored.body
            && let Some(large) = bytes.whole_file()
            && Arc::ptr_eq(&large.device, &self.shared.device)
        {
            let is_there = large.is_whole() && !large.is_failed() && self.ledger.has(large.id);
            return is_there
                .then(|| Content::Large(large.clone(), bytes.len()))
                .ok_or(Refused::Unfit);
        }
        let pieces = pieces(&stored.body).ok_or(Refused::Unfit)?;
        let length = pieces.iter().map(Piece::len).sum();
        if length > self.shared.most_inline {
            let large = self.write_large(pieces, length)?;
            return Ok(Content::Large(large, length));
        }
        let mut body = Vec::with_capacity(length as usize);
        for piece in pieces {
            read_piece(&piece, |bytes| body.extend_from_slice(&bytes))?;
        }
        Ok(Content::Inline(body))
    }

    /// Writes a large body to a file of its own.
    fn write_large(&mut self, pieces: Vec<Piece>, length: u64) -> Result<Arc<Large>, Refused> {
        let bytes = super::layout::file_length(length);
        if length > self.shared.most_large || !self.make_room(bytes) {
            return Err(Refused::Unfit);
        }
        let large = Arc::new(self.shared.new_large(Some(length)));
        self.ledger.grow(large.id, bytes);
        self.total += bytes;
        let mut chunks = large.straight(bytes);
        let mut written = Ok(());
        for piece in pieces {
            let read = read_piece(&piece, |bytes| {
                if written.is_ok() {
                    written = chunks.push(&bytes);
                }
            });
            read?;
        }
        written?;
        chunks.finish()?;
        Ok(large)
    }

    /// Appends a record to the open segment. `forward`: it is one from a segment that goes, for which no other goes.
    fn append(
        &mut self,
        key: &[u8],
        stored: &Stored,
        content: &Content,
        forward: bool,
    ) -> Result<(), Refused> {
        let head = codec::encode(key, stored).ok_or(Refused::Unfit)?;
        let (body, large): (&[u8], _) = match content {
            Content::Inline(body) => (body, None),
            Content::Large(large, length) => (&[], Some((large, *length))),
        };
        let record = RecordHead {
            head: head.len() as u32,
            body: large.map_or(body.len() as u64, |(_, length)| length),
            key: self.shared.hash(key),
            variant: variant_hash(stored.variant.as_deref()),
            large: large.map_or(0, |(large, _)| large.id),
            nonce: large.map_or(0, |(large, _)| large.nonce),
            checked: stored.checked(),
        };
        let size = record.size();
        let needed = size + (ENTRY + FILE_HEAD + TRAILER) as u64;
        let has_room = if forward {
            self.total + needed <= self.shared.size
        } else {
            self.make_room(needed)
        };
        let is_there = large.is_none_or(|(large, _)| self.ledger.has(large.id));
        let fits = head.len() <= MOST_HEAD && needed <= self.shared.segment_size;
        if !(fits && has_room && is_there) {
            return Err(Refused::Unfit);
        }
        let open = self.open_for(size)?;
        let bytes = record.record(&head, body, open.segment.nonce, open.at);
        open.segment.file.write_all_at(&bytes, open.at)?;
        let unit = (open.at / ALIGN) as u32;
        let place = Place::new(open.segment.id, unit);
        open.segment.note(record.checked);
        open.entries.push(Entry {
            key: record.key,
            large: record.large,
            unit,
            size: size as u32,
            variant: record.variant,
        });
        open.at += size;
        open.segment.bytes.fetch_add(size + ENTRY as u64, Relaxed);
        self.total += size + ENTRY as u64;
        let counts = &self.shared.device.counts;
        counts.bytes_written.fetch_add(size, Relaxed);
        if forward {
            count(&counts.forwarded);
        }
        if let Some((large, _)) = large {
            large.name();
            self.ledger.name(place, large.id, record.key);
            self.shared.open_files.put(large.clone());
        }
        let spot = Spot::new(
            record.key,
            place,
            record.variant,
            size as u32,
            large.is_some(),
        );
        self.enter(spot);
        Ok(())
    }

    /// Adds a record to the index; what it supersedes is forgotten.
    pub fn enter(&mut self, spot: Spot) {
        for gone in self.shared.index.insert(spot) {
            if gone.is_large() {
                self.unname(gone.place);
            }
        }
    }

    /// A segment with room for `size` bytes.
    fn open_for(&mut self, size: u64) -> io::Result<&mut Open> {
        let limit = self.shared.segment_size;
        let is_full = self.open.as_ref().is_some_and(|open| {
            let index = (open.entries.len() + 1) * ENTRY + TRAILER;
            open.at + size + index as u64 > limit || open.entries.len() >= MOST_RECORDS
        });
        if is_full {
            self.seal()?;
        }
        if self.open.is_none() {
            let open = self.create()?;
            return Ok(self.open.insert(open));
        }
        self.open
            .as_mut()
            .ok_or_else(|| ErrorKind::Unsupported.into())
    }

    fn create(&mut self) -> io::Result<Open> {
        let id = self.next;
        let device = &self.shared.device;
        let path = device.segment_path(id);
        // Whoever removed the directory gets it back.
        let _ = fs::create_dir(&device.path);
        let segment = Segment::create(&path, id, device.seed)?;
        self.next += 1;
        let segment = Arc::new(segment);
        // Room for what sealing adds is taken at once.
        let bytes = (FILE_HEAD + TRAILER) as u64;
        segment.bytes.store(bytes, Relaxed);
        self.total += bytes;
        self.shared.segments_mut().insert(id, segment.clone());
        let _ = fs::File::open(&device.path).and_then(|directory| directory.sync_all());
        Ok(Open {
            segment,
            at: FILE_HEAD as u64,
            entries: Vec::new(),
        })
    }

    /// Seals the open segment. Where that fails, it stays as it is and is read through when it is loaded.
    fn seal(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let length = open.segment.seal(&open.entries, open.at)?;
        let counted = open.segment.bytes.swap(length, Relaxed);
        self.total = (self.total + length).saturating_sub(counted);
        Ok(())
    }
}

/// The bytes that lie beside a head, in order; `None` while they are on their way.
pub(super) fn pieces(body: &Body) -> Option<Vec<Piece>> {
    match body {
        Body::Whole(bytes) => Some(vec![bytes.clone().into()]),
        Body::Chunks(chunks) => Some(chunks.iter().cloned().map(Piece::from).collect()),
        Body::Disk(bytes) => Some(vec![bytes.clone().into()]),
        Body::Parts(parts) => {
            let all = parts.pieces().iter();
            Some(all.map(|(_, piece)| piece.clone()).collect())
        }
        Body::Filling(_) => None,
    }
}

/// Reads a piece, wherever it lies.
fn read_piece(piece: &Piece, mut see: impl FnMut(Bytes)) -> Result<(), Refused> {
    match piece {
        Piece::Memory(bytes) => {
            see(bytes.clone());
            Ok(())
        }
        Piece::Disk(bytes) => OnDisk::read_all(bytes, see).map_err(|_| Refused::Unfit),
    }
}

/// What tells variants of a key apart.
fn variant_hash(variant: Option<&Variant>) -> u32 {
    let Some(variant) = variant else {
        return NO_VARIANT;
    };
    let mut hash = Xxh3::new();
    for name in &variant.nominated {
        hash.update(name.as_str().as_bytes());
        hash.update(b"\n");
    }
    hash.update(&variant.key);
    (hash.digest() as u32).max(NO_VARIANT + 1)
}
