//! The end of a sealed segment: its index, the labels of its records, and a trailer.

use super::{ENTRY, TRAILER, closed, sum, u32_at, u64_at};

const SEALED: [u8; 8] = *b"LARDERIX";

/// One record in the index of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) struct Entry {
    pub key: u64,
    pub large: u64,
    /// Where the record begins, in units of [`ALIGN`](super::ALIGN).
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

    /// Whether the index that `bytes` begin with has any of `entries` at its place.
    pub fn is_any_in(entries: &[Self], bytes: &[u8]) -> bool {
        let mut places = bytes.chunks_exact(ENTRY).zip(entries);
        places.any(|(bytes, entry)| Self::read(bytes) == *entry)
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

/// The trailer of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) struct Trailer {
    /// Where the index begins.
    pub index: u64,
    pub count: u64,
    /// The smallest number of the log that a record was checked up to.
    pub checked: u64,
    sum: u64,
    /// Bytes of the [labels](crate::codec::label); zero in a segment of a version that wrote none.
    pub labels: u64,
    labels_sum: u64,
}

impl Trailer {
    /// Returns the index of `entries`, which is to lie at `index`, followed by `labels` and the trailer.
    pub fn write(
        entries: &[Entry],
        labels: &[u8],
        index: u64,
        checked: u64,
        nonce: u64,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(entries.len() * ENTRY + labels.len() + TRAILER);
        for entry in entries {
            entry.write(&mut out);
        }
        let at = index + out.len() as u64;
        let trailer = Self {
            index,
            count: entries.len() as u64,
            checked,
            sum: sum(&out, nonce, index),
            labels: labels.len() as u64,
            labels_sum: label_sum(labels, nonce, at),
        };
        out.extend_from_slice(labels);
        out.extend_from_slice(&trailer.bytes(nonce));
        out
    }

    fn bytes(&self, nonce: u64) -> [u8; TRAILER] {
        let mut out = SEALED.to_vec();
        for number in [
            self.index,
            self.count,
            self.checked,
            self.sum,
            self.labels,
            self.labels_sum,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        closed(&out, nonce, self.end())
    }

    /// Where the labels begin.
    pub fn labels_at(&self) -> u64 {
        let index = self.count.saturating_mul(ENTRY as u64);
        self.index.saturating_add(index)
    }

    /// Where the trailer itself begins.
    fn end(&self) -> u64 {
        self.labels_at().saturating_add(self.labels)
    }

    /// Reads the trailer of a segment from its last bytes, which begin at `at`.
    pub fn read(bytes: &[u8; TRAILER], nonce: u64, at: u64) -> Option<Self> {
        let trailer = Self {
            index: u64_at(bytes, 8),
            count: u64_at(bytes, 16),
            checked: u64_at(bytes, 24),
            sum: u64_at(bytes, 32),
            labels: u64_at(bytes, 40),
            labels_sum: u64_at(bytes, 48),
        };
        (trailer.bytes(nonce) == *bytes && trailer.end() == at).then_some(trailer)
    }

    /// Whether `bytes`, the last of a segment, look like a trailer, whatever else is wrong with the segment.
    pub fn is_like(bytes: &[u8; TRAILER]) -> bool {
        bytes.starts_with(&SEALED)
    }

    /// The entries in `bytes`, which were read from where the trailer says. `None` if they are damaged.
    pub fn entries(&self, bytes: &[u8], nonce: u64) -> Option<Vec<Entry>> {
        let is_sound = sum(bytes, nonce, self.index) == self.sum;
        is_sound.then(|| bytes.chunks_exact(ENTRY).map(Entry::read).collect())
    }

    /// Whether `bytes`, which were read from where the trailer says, are the labels that were written.
    pub fn are_labels(&self, bytes: &[u8], nonce: u64) -> bool {
        label_sum(bytes, nonce, self.labels_at()) == self.labels_sum
    }
}

/// The checksum of labels that lie at `at`. It is zero if there are none, as in segments without labels.
fn label_sum(labels: &[u8], nonce: u64, at: u64) -> u64 {
    if labels.is_empty() {
        0
    } else {
        sum(labels, nonce, at)
    }
}
