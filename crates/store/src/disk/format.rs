//! The format of the tier's files. All numbers are little-endian.
//!
//! A *segment* is a header of [`FILE_HEAD`] bytes, followed by records. Each record begins at a multiple of [`ALIGN`].
//! A sealed segment also has its index, the [labels](crate::codec::label) of its records and a trailer of [`TRAILER`]
//! bytes. A *record* is a header of [`RECORD_HEAD`] bytes, the head of the stored response, a checksum for each chunk
//! of its body, and the body. If the body has a file of its own, the record names that file instead. `layout` describes
//! a *large file*.
//!
//! Each checksum is seeded with a number drawn at random for the file and with the place of the bytes that it covers.
//! So bytes of another record, or of an older file of the same name, are never taken for these.

mod file;
mod record;
mod sealed;
#[cfg(test)]
mod tests;

use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(super) use file::{Beginning, FileHead, Kind};
pub(super) use record::RecordHead;
pub(super) use sealed::{Entry, Trailer};

/// The version of everything below, and of `codec`. A directory with a later version is left alone.
pub(super) const FORMAT: u32 = 2;
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
/// Bytes of the largest head that is kept.
pub(super) const MOST_HEAD: usize = 1 << 20;
/// Bytes of the largest body that lies in a segment. A larger one has a file of its own.
pub(super) const MOST_INLINE: u64 = 2 << 20;

/// The checksum of `bytes` at `place` of the file that has `nonce`.
pub(super) fn sum(bytes: &[u8], nonce: u64, place: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed(nonce, place))
}

/// The seed for what lies at `place`, or for the `place`th part of something that has a seed.
pub(super) fn seed(seed: u64, place: u64) -> u64 {
    // Odd, so that no two places of a file share a seed.
    (seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29)
}

/// The number at `at`; zero if there is none, which no checksum accepts.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Pads `bytes` to 64 bytes. The last eight are the checksum of the others.
fn closed(bytes: &[u8], nonce: u64, place: u64) -> [u8; 64] {
    let mut all = [0; 64];
    let (body, end) = all.split_at_mut(56);
    for (to, from) in body.iter_mut().zip(bytes) {
        *to = *from;
    }
    end.copy_from_slice(&sum(body, nonce, place).to_le_bytes());
    all
}

/// Whether `chunk` agrees with its checksum in `sums`. It is the `number`th chunk of the body of a record with the seed
/// `own`.
pub(super) fn is_chunk_sound(chunk: &[u8], sums: &[u8], number: usize, own: u64) -> bool {
    sums.len() >= (number + 1) * SUM
        && u64_at(sums, number * SUM) == sum(chunk, own, number as u64 + 1)
}

/// The checksum of chunk `number` of a large file.
pub(super) fn large_sum(chunk: &[u8], nonce: u64, number: u64) -> [u8; SUM] {
    sum(chunk, nonce, number + 1).to_le_bytes()
}
