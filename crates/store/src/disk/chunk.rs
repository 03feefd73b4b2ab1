//! Chunks of a body: the units that are read and verified.

use super::format::CHUNK;
use bytes::Bytes;

/// The part of chunk `number` that lies in `at..end`.
pub(super) fn cut(number: u64, chunk: &Bytes, at: u64, end: u64) -> Bytes {
    let first = begin(number);
    let to = (end.saturating_sub(first) as usize).min(chunk.len());
    let from = at.saturating_sub(first) as usize;
    chunk.slice(from.min(to)..to)
}

/// Where chunk `number` of `whole` bytes ends.
pub(super) fn end(number: u64, whole: u64) -> u64 {
    begin(number.saturating_add(1)).min(whole)
}

/// Where chunk `number` begins.
pub(super) fn begin(number: u64) -> u64 {
    number.saturating_mul(CHUNK as u64)
}
