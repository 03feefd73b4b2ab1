//! The header of a file.

use super::{FILE_HEAD, FORMAT, SUM, closed, u64_at};

const SEGMENT: [u8; 8] = *b"LARDERSG";
const LARGE: [u8; 8] = *b"LARDERLG";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) enum Kind {
    Segment,
    Large,
}

/// What a file begins with, where a header is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) enum Beginning {
    /// That header.
    Expected,
    /// That of another file of the same number.
    Another,
    /// Bytes that were not written there.
    Damaged,
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) struct FileHead {
    pub kind: Kind,
    /// Its number, which is also in its name.
    pub id: u64,
    /// Drawn at random. Seeds the checksums of the file.
    pub nonce: u64,
    /// The seed of the directory that it belongs to.
    pub directory: u64,
}

impl FileHead {
    /// The header as bytes, with its checksum.
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

    /// Reads what [`write`](Self::write) wrote; `None` if it is anything else: torn, flipped, or of another format.
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

    /// What `bytes`, the first of a file, are where this is expected.
    pub fn compare(&self, bytes: &[u8; FILE_HEAD]) -> Beginning {
        match Self::read(bytes) {
            Some(found) if found == *self => Beginning::Expected,
            Some(found)
                if Self {
                    nonce: self.nonce,
                    ..found
                } == *self =>
            {
                Beginning::Another
            }
            Some(_) | None => Beginning::Damaged,
        }
    }

    /// Whether `bytes` are a header as it was written, of whatever file and version.
    pub fn is_sound(bytes: &[u8; FILE_HEAD]) -> bool {
        let (all, _) = bytes.split_at(FILE_HEAD - SUM);
        closed(all, u64_at(bytes, 24), 0) == *bytes
    }
}
