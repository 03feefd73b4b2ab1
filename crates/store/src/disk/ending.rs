//! How the records of a segment end that has no index: where a crash came into the last write, or with damage.

use super::{
    format::{ENTRY, Entry, RECORD_HEAD, RecordHead},
    scan::{SECTOR, is_followed, lacks_its_end},
    segment::Segment,
};
use std::{io, iter, os::unix::fs::FileExt};

/// How the records of a segment without an index end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// As a crash leaves them: with the file, in a record that was not written whole, or before an index that was not.
    /// Nothing that was synced is lost.
    Torn,
    /// With bytes that are not what was written. Nobody knows how many records follow, and what they replaced.
    Damaged,
}

impl Ending {
    /// How the records of `segment`, a file of `length` bytes, end at `at`. `entries` are those before.
    pub fn of(segment: &Segment, entries: &[Entry], at: u64, length: u64) -> io::Result<Self> {
        let left = length.saturating_sub(at);
        if left < RECORD_HEAD as u64 || is_index(segment, entries, at, left)? {
            return Ok(Self::Torn);
        }
        if is_followed(&segment.file, segment.nonce, at, length)? {
            return Ok(Self::Damaged);
        }
        let mut bytes = [0; RECORD_HEAD];
        segment.file.read_exact_at(&mut bytes, at)?;
        let head = RecordHead::read(&bytes);
        let size = head.map_or(RECORD_HEAD as u64, |head| head.size());
        if size > left {
            return Ok(Self::Torn);
        }
        let covered = head.map_or(RECORD_HEAD, |head| head.meta());
        let mut record = vec![0; size as usize];
        segment.file.read_exact_at(&mut record, at)?;
        let is_torn = lacks_a_sector(&record, at, covered) || lacks_its_end(&record, at);
        Ok(if is_torn { Self::Torn } else { Self::Damaged })
    }
}

/// Whether the `left` bytes from `at` on begin with the index of `entries`, whatever else is wrong with them.
fn is_index(segment: &Segment, entries: &[Entry], at: u64, left: u64) -> io::Result<bool> {
    if let Some(trailer) = segment.trailer()? {
        return Ok(trailer.index == at);
    }
    let length = (entries.len() * ENTRY).min(usize::try_from(left).unwrap_or(usize::MAX));
    let mut bytes = vec![0; length];
    segment.file.read_exact_at(&mut bytes, at)?;
    Ok(Entry::is_any_in(entries, &bytes))
}

/// Whether anything in the first `covered` bytes of the record at `at` was never written: its sector is zeros.
fn lacks_a_sector(record: &[u8], at: u64, covered: usize) -> bool {
    let first = ((SECTOR - at % SECTOR) as usize).min(record.len());
    let (first, others) = record.split_at(first);
    let others = others.chunks(SECTOR as usize);
    let sectors = (covered.saturating_sub(first.len())).div_ceil(SECTOR as usize);
    let mut sectors = iter::once(first).chain(others.take(sectors));
    sectors.any(|sector| sector.iter().all(|byte| *byte == 0))
}
