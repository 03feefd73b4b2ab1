//! The segment that records are appended to.

use super::{Keeper, Refused, content::Content};
use crate::{
    Stored,
    codec::{self, label},
    disk::{
        counting::is_plain,
        format::{ALIGN, ENTRY, Entry, FILE_HEAD, MOST_HEAD, RecordHead, TRAILER},
        index::{RecordPosition, Spot},
        segment::Segment,
        statistics::count,
    },
};
use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// At most this many records are in a segment, because their index is kept in memory until the segment is sealed.
const MOST_RECORDS: usize = 1 << 16;

/// Once a segment has this many bytes of labels, no further record is added.
const MOST_LABELS: usize = 8 << 20;

/// The segment that records are appended to.
pub(super) struct OpenSegment {
    pub segment: Arc<Segment>,
    /// Where the next record begins.
    at: u64,
    entries: Vec<Entry>,
    pub labels: Vec<u8>,
}

impl OpenSegment {
    /// Writes a record and its label behind the others. Returns its position.
    fn write(
        &mut self,
        record: &RecordHead,
        head: &[u8],
        body: &[u8],
        label: &[u8],
    ) -> io::Result<RecordPosition> {
        let size = record.size();
        let bytes = record.record(head, body, self.segment.nonce, self.at);
        self.segment.file.write_all_at(&bytes, self.at)?;
        let unit = (self.at / ALIGN) as u32;
        self.segment.note(record.checked);
        self.entries.push(Entry {
            key: record.key,
            large: record.large,
            unit,
            size: size as u32,
            variant: record.variant,
        });
        label::add(&mut self.labels, unit, label);
        self.at += size;
        let counted = size + (ENTRY + label::length(label)) as u64;
        self.segment.bytes.fetch_add(counted, Relaxed);
        Ok(RecordPosition::new(self.segment.id, unit))
    }
}

impl Keeper {
    /// Appends a record to the open segment. `from`: its place in a segment that is evicted, if it is moved; then nothing
    /// else is evicted for it.
    pub(super) fn append(
        &mut self,
        key: &[u8],
        stored: &Stored,
        content: &Content,
        from: Option<RecordPosition>,
    ) -> Result<(), Refused> {
        let head = codec::encode(key, stored).ok_or(Refused::Unfit)?;
        let checked = stored.checked();
        let label = label::of(key, stored, checked).ok_or(Refused::Unfit)?;
        let record = self.record_head(key, stored, content, &head);
        let (body, large): (&[u8], _) = match content {
            Content::Inline(body) => (body, None),
            Content::Large(large, _) => (&[], Some(large)),
        };
        let size = record.size();
        let around = (ENTRY + label::length(&label)) as u64;
        let needed = size + around + (FILE_HEAD + TRAILER) as u64;
        let has_room = if from.is_some() {
            self.has_room(needed) && (!self.is_tight || self.is_free(needed))
        } else {
            self.make_room(needed)
        };
        let is_there = large.is_none_or(|large| self.ledger.has(large.id));
        let fits = head.len() <= MOST_HEAD && needed <= self.shared.segment_size;
        if !(fits && has_room && is_there) {
            return Err(Refused::Unfit);
        }
        let open = self.open_for(size + around)?;
        let place = open.write(&record, &head, body, &label)?;
        self.total += size + around;
        let counts = &self.shared.device.counts;
        counts.bytes_written.fetch_add(size, Relaxed);
        // A large body may wait for its turn with this thread.
        self.shared.device.writers.moves();
        if from.is_some() {
            count(&counts.forwarded);
        }
        if let Some(large) = large {
            self.ledger.name(place, large.id, record.key);
            if let Some(file) = large.name() {
                self.shared.keep_open(large.clone(), file);
            }
        }
        let spot = Spot::new(
            record.key,
            place,
            record.variant,
            size as u32,
            large.is_some(),
        )
        .with_given_up(stored.is_given_up());
        self.enter(spot, from);
        self.count_written(key, stored, checked, spot);
        if !is_plain(key) {
            self.shared.has_long_keys.store(true, Relaxed);
        }
        Ok(())
    }

    /// Returns the header of the record of `stored`, which has the encoded `head` and `content`.
    fn record_head(
        &self,
        key: &[u8],
        stored: &Stored,
        content: &Content,
        head: &[u8],
    ) -> RecordHead {
        let (body, large, nonce) = match content {
            Content::Inline(body) => (body.len() as u64, 0, 0),
            Content::Large(large, length) => (*length, large.id, large.nonce),
        };
        RecordHead {
            head: head.len() as u32,
            body,
            key: self.shared.hash(key),
            variant: Spot::variant(stored),
            large,
            nonce,
            checked: stored.checked(),
        }
    }

    /// Returns the open segment, with room for `size` bytes. `size` includes what is written for them when the segment
    /// is sealed.
    fn open_for(&mut self, size: u64) -> io::Result<&mut OpenSegment> {
        let limit = self.shared.segment_size;
        let is_full = self.open.as_ref().is_some_and(|open| {
            let index = open.entries.len() * ENTRY + open.labels.len() + TRAILER;
            open.at + size + index as u64 > limit
                || open.entries.len() >= MOST_RECORDS
                || open.labels.len() >= MOST_LABELS
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

    fn create(&mut self) -> io::Result<OpenSegment> {
        let id = self.next;
        let device = &self.shared.device;
        let path = device.segment_path(id);
        // If somebody removed the directory, it is made again.
        let _ = fs::create_dir(&device.path);
        // Even if that fails: the partial file is in the way of that number.
        self.next += 1;
        let segment = Segment::create(&path, id, device.seed)?;
        let segment = Arc::new(segment);
        // Takes the room for what sealing adds now.
        let bytes = (FILE_HEAD + TRAILER) as u64;
        segment.bytes.store(bytes, Relaxed);
        self.total += bytes;
        self.shared.segments_mut().insert(id, segment.clone());
        let _ = fs::File::open(&device.path).and_then(|directory| directory.sync_all());
        Ok(OpenSegment {
            segment,
            at: FILE_HEAD as u64,
            entries: Vec::new(),
            labels: Vec::new(),
        })
    }

    /// Seals the open segment. If that fails, it stays as it is, and is scanned when it is loaded.
    pub(super) fn seal(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let length = open.segment.seal(&open.entries, &open.labels, open.at)?;
        let counted = open.segment.bytes.swap(length, Relaxed);
        self.total = (self.total + length).saturating_sub(counted);
        Ok(())
    }
}
