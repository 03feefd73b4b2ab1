//! A record: its header, and the whole record as bytes.

use super::{ALIGN, CHUNK, MOST_HEAD, MOST_INLINE, RECORD_HEAD, SUM, seed, sum, u32_at, u64_at};

const RECORD: u32 = u32::from_le_bytes(*b"LREC");

/// The header of a record. The checksum before it covers the header, the head and the checksums of the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) struct RecordHead {
    pub head: u32,
    /// Bytes of the body, wherever it lies.
    pub body: u64,
    /// The hash of the key.
    pub key: u64,
    /// [What tells variants apart](crate::disk::index::Spot::variant).
    pub variant: u32,
    /// The file that holds the body, and its nonce. Both are zero if the body lies in the record.
    pub large: u64,
    pub nonce: u64,
    /// The number of the log up to which no purge covered it.
    pub checked: u64,
}

impl RecordHead {
    /// Reads the header from the beginning of a record. `None` if it is not one, or if its numbers exceed what a record
    /// may hold. The checksum is not checked.
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
        let is_record = bytes.len() >= RECORD_HEAD && Self::is_like(bytes);
        let fits = head.head as usize <= MOST_HEAD && (head.large != 0 || head.body <= MOST_INLINE);
        (is_record && fits).then_some(head)
    }

    /// Whether `bytes` look like the beginning of a record, whatever else is wrong with it. [`ALIGN`] of them are enough.
    pub fn is_like(bytes: &[u8]) -> bool {
        u32_at(bytes, SUM) == RECORD
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

    /// The offset of the chunks' checksums in the record.
    pub fn sums(&self) -> usize {
        RECORD_HEAD + self.head as usize
    }

    /// Bytes before the body: the first checksum and what it covers.
    pub fn meta(&self) -> usize {
        self.sums() + SUM * self.inline().div_ceil(CHUNK)
    }

    /// Bytes of the whole record.
    pub fn size(&self) -> u64 {
        ((self.meta() + self.inline()) as u64).next_multiple_of(ALIGN)
    }

    /// Whether the first checksum of `record`, which begins at `offset`, is correct.
    pub fn is_sound(&self, record: &[u8], nonce: u64, offset: u64) -> bool {
        let covered = record.get(SUM..self.meta());
        covered.is_some_and(|covered| sum(covered, nonce, offset) == u64_at(record, 0))
    }

    /// Returns a record that will begin at `offset`: `head`, the checksums and `body`, which is empty if it has a file
    /// of its own.
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
