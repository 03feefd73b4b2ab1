//! What the files of the tier look like. All numbers are little-endian.
//!
//! A *segment* is a header of [`FILE_HEAD`] bytes, records one after the other, each beginning at a multiple of [`ALIGN`],
//! and, once it is sealed, its index and a trailer of [`TRAILER`] bytes. A *record* is a header of [`RECORD_HEAD`] bytes, the
//! head of the stored response, a checksum for each chunk of its body, and the body; where the body has a file of its own,
//! the record names that file instead. A *large file* is laid out as `layout` says.
//!
//! Each checksum is seeded with a number drawn at random for the file and with the place of what it covers, so that bytes
//! of another record, or of an older file of the same name, are never taken for these.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The version of everything below, and of `codec`. A directory of a later one is left alone.
pub(super) const FORMAT: u32 = 1;
/// Records begin at multiples of this.
pub(super) const ALIGN: u64 = 16;
/// Bytes of a body under one checksum.
pub(super) const CHUNK: usize = 64 << 10;
/// Bytes of a file's header.
pub(super) const FILE_HEAD: usize = 64;
/// Bytes of a record's header.
pub(super) const RECORD_HEAD: usize = 64;
/// Bytes of a sealed segment's trailer.
pub(super) const TRAILER: usize = 64;
/// Bytes of one entry of a sealed segment's index.
pub(super) const ENTRY: usize = 32;
/// Bytes of a checksum.
pub(super) const SUM: usize = 8;
/// The largest head that is kept.
pub(super) const MOST_HEAD: usize = 1 << 20;
/// The largest body that lies in a segment; a larger one has a file of its own.
pub(super) const MOST_INLINE: u64 = 2 << 20;

const SEGMENT: [u8; 8] = *b"LARDERSG";
const LARGE: [u8; 8] = *b"LARDERLG";
const SEALED: [u8; 8] = *b"LARDERIX";
const RECORD: u32 = u32::from_le_bytes(*b"LREC");

/// The checksum of `bytes` that lie at `place` of the file that drew `nonce`.
pub(super) fn sum(bytes: &[u8], nonce: u64, place: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed(nonce, place))
}

/// A seed for what lies at `place`, or is the `place`th of something that has a seed.
pub(super) fn seed(seed: u64, place: u64) -> u64 {
    // Odd, so that no two places of a file share a seed.
    (seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29)
}

/// The number at `at`; zero where there is none, which no checksum lets through.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Segment,
    Large,
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHead {
    pub kind: Kind,
    /// Its number, which its name says too.
    pub id: u64,
    /// Drawn at random; seeds its checksums.
    pub nonce: u64,
    /// The directory that it belongs to, by its seed.
    pub directory: u64,
}

impl FileHead {
    pub fn write(&self) -> [u8; FILE_HEAD] {
        let mut out = Vec::with_capacity(FILE_HEAD);
        out.extend_from_slice(match self.kind {
            Kind::Segment => &SEGMENT,
            Kind::Large => &LARGE,
        });
        out.extend_from_slice(&u64::from(FORMAT).to_le_bytes());
        for number in [self.id, self.nonce, self.directory, 0, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        closed(&out, self.nonce, 0)
    }

    pub fn read(bytes: &[u8; FILE_HEAD]) -> Option<Self> {
        let kind = if bytes.starts_with(&SEGMENT) {
            Kind::Segment
        } else if bytes.starts_with(&LARGE) {
            Kind::Large
        } else {
            return None;
        };
        let head = Self {
            kind,
            id: u64_at(bytes, 16),
            nonce: u64_at(bytes, 24),
            directory: u64_at(bytes, 32),
        };
        (head.write() == *bytes).then_some(head)
    }
}

/// Fills up to 64 bytes, the last eight of them the checksum of the others.
fn closed(bytes: &[u8], nonce: u64, place: u64) -> [u8; 64] {
    let mut all = [0; 64];
    let (body, end) = all.split_at_mut(56);
    for (to, from) in body.iter_mut().zip(bytes) {
        *to = *from;
    }
    end.copy_from_slice(&sum(body, nonce, place).to_le_bytes());
    all
}

/// The header of a record. The checksum before it covers it, the head and the checksums of the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHead {
    pub head: u32,
    /// Bytes of the body, wherever it lies.
    pub body: u64,
    /// The hash of the key.
    pub key: u64,
    /// The hash of the variant; [`NO_VARIANT`](super::index::NO_VARIANT) where any request matches.
    pub variant: u32,
    /// The file that holds the body, and what it drew; both zero where the body lies here.
    pub large: u64,
    pub nonce: u64,
    /// The number of the log up to which no purge covered it.
    pub checked: u64,
}

impl RecordHead {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = Self {
            head: u32_at(bytes, 12),
            body: u64_at(bytes, 16),
            key: u64_at(bytes, 24),
            variant: u32_at(bytes, 32),
            large: u64_at(bytes, 40),
            nonce: u64_at(bytes, 48),
            checked: u64_at(bytes, 56),
        };
        let is_record = bytes.len() >= RECORD_HEAD && u32_at(bytes, 8) == RECORD;
        let fits = head.head as usize <= MOST_HEAD && (head.large != 0 || head.body <= MOST_INLINE);
        (is_record && fits).then_some(head)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&RECORD.to_le_bytes());
        out.extend_from_slice(&self.head.to_le_bytes());
        for number in [
            self.body,
            self.key,
            u64::from(self.variant),
            self.large,
            self.nonce,
            self.checked,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Bytes of the body that lie in the record.
    pub fn inline(&self) -> usize {
        if self.large == 0 {
            self.body as usize
        } else {
            0
        }
    }

    /// Where in the record the checksums of the chunks begin.
    pub fn sums(&self) -> usize {
        RECORD_HEAD + self.head as usize
    }

    /// Bytes before the body: what the first checksum covers, and that itself.
    pub fn meta(&self) -> usize {
        self.sums() + SUM * self.inline().div_ceil(CHUNK)
    }

    /// Bytes of the whole record.
    pub fn size(&self) -> u64 {
        ((self.meta() + self.inline()) as u64).next_multiple_of(ALIGN)
    }

    /// Whether the first checksum of `record`, which begins at `offset`, is right.
    pub fn is_sound(&self, record: &[u8], nonce: u64, offset: u64) -> bool {
        let covered = record.get(SUM..self.meta());
        covered.is_some_and(|covered| sum(covered, nonce, offset) == u64_at(record, 0))
    }

    /// Writes a record that will begin at `offset`: `head`, and `body` in pieces unless that has a file of its own.
    pub fn record(&self, head: &[u8], body: &[u8], nonce: u64, offset: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size() as usize);
        out.extend_from_slice(&[0; SUM]);
        self.write(&mut out);
        out.extend_from_slice(head);
        let own = seed(nonce, offset);
        for (number, chunk) in (1..).zip(body.chunks(CHUNK)) {
            out.extend_from_slice(&sum(chunk, own, number).to_le_bytes());
        }
        let first = sum(out.get(SUM..).unwrap_or_default(), nonce, offset);
        if let Some(place) = out.first_chunk_mut::<SUM>() {
            *place = first.to_le_bytes();
        }
        out.extend_from_slice(body);
        out.resize(self.size() as usize, 0);
        out
    }
}

/// Whether `chunk`, the `number`th of the body of a record that begins at `offset`, is what `sums` says.
pub(super) fn is_chunk_sound(chunk: &[u8], sums: &[u8], number: usize, own: u64) -> bool {
    sums.len() >= (number + 1) * SUM
        && u64_at(sums, number * SUM) == sum(chunk, own, number as u64 + 1)
}

/// The checksum of a chunk of a large file.
pub(super) fn large_sum(chunk: &[u8], nonce: u64, number: u64) -> [u8; SUM] {
    sum(chunk, nonce, number + 1).to_le_bytes()
}

/// One record in the index of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: u64,
    pub large: u64,
    /// Where it begins, in units of [`ALIGN`].
    pub unit: u32,
    pub size: u32,
    pub variant: u32,
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.to_le_bytes());
        out.extend_from_slice(&self.large.to_le_bytes());
        for number in [self.unit, self.size, self.variant, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Self {
        Self {
            key: u64_at(bytes, 0),
            large: u64_at(bytes, 8),
            unit: u32_at(bytes, 16),
            size: u32_at(bytes, 20),
            variant: u32_at(bytes, 24),
        }
    }
}

/// The end of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Where the index begins.
    pub index: u64,
    pub count: u64,
    /// The smallest number of the log that a record was checked up to.
    pub checked: u64,
    sum: u64,
}

impl Trailer {
    /// The index of `entries`, to lie at `index`, and the trailer behind it.
    pub fn write(entries: &[Entry], index: u64, checked: u64, nonce: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(entries.len() * ENTRY + TRAILER);
        for entry in entries {
            entry.write(&mut out);
        }
        let trailer = Self {
            index,
            count: entries.len() as u64,
            checked,
            sum: sum(&out, nonce, index),
        };
        out.extend_from_slice(&trailer.bytes(nonce));
        out
    }

    fn bytes(&self, nonce: u64) -> [u8; TRAILER] {
        let mut out = SEALED.to_vec();
        for number in [self.index, self.count, self.checked, self.sum] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        closed(&out, nonce, self.end())
    }

    /// Where the trailer itself begins.
    fn end(&self) -> u64 {
        let index = self.count.saturating_mul(ENTRY as u64);
        self.index.saturating_add(index)
    }

    /// The trailer of a segment whose last bytes, from `at` on, these are.
    pub fn read(bytes: &[u8; TRAILER], nonce: u64, at: u64) -> Option<Self> {
        let trailer = Self {
            index: u64_at(bytes, 8),
            count: u64_at(bytes, 16),
            checked: u64_at(bytes, 24),
            sum: u64_at(bytes, 32),
        };
        (trailer.bytes(nonce) == *bytes && trailer.end() == at).then_some(trailer)
    }

    /// The entries that `bytes` hold, which lay where the trailer says.
    pub fn entries(&self, bytes: &[u8], nonce: u64) -> Option<Vec<Entry>> {
        let is_sound = sum(bytes, nonce, self.index) == self.sum;
        is_sound.then(|| bytes.chunks_exact(ENTRY).map(Entry::read).collect())
    }
}

#[cfg(test)]
mod tests;
