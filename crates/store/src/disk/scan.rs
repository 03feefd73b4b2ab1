//! Reads a segment record by record, where its index is missing or cannot be trusted.

use super::format::{CHUNK, Entry, RECORD_HEAD, RecordHead, is_chunk_sound, seed};
use std::{fs::File, io, os::unix::fs::FileExt};

/// What the scan found at one place of a segment.
pub(super) enum ScannedRecord<'a> {
    /// A sound record: its header, and all its bytes.
    Sound(RecordHead, &'a [u8]),
    /// A record whose body is not what was written: its header, and all its bytes.
    BadBody(RecordHead, &'a [u8]),
    /// No record begins here, or its head is not what was written: nothing after it can be read.
    End,
}

/// Reads the records of a segment between `from` and `to`. Calls `see` with each, and with the end. Returns where the
/// records end.
pub(super) fn scan(
    file: &File,
    nonce: u64,
    from: u64,
    to: u64,
    mut see: impl FnMut(u64, ScannedRecord<'_>),
) -> io::Result<u64> {
    let mut bytes = Vec::new();
    let mut at = from;
    while at < to {
        let Some(head) = read(file, nonce, at, to, &mut bytes)? else {
            break;
        };
        let own = seed(nonce, at);
        let sums = bytes.get(head.sums()..head.meta()).unwrap_or_default();
        let body = bytes.get(head.meta()..head.meta() + head.inline());
        let mut chunks = body.unwrap_or_default().chunks(CHUNK).enumerate();
        if chunks.all(|(number, chunk)| is_chunk_sound(chunk, sums, number, own)) {
            see(at, ScannedRecord::Sound(head, &bytes));
        } else {
            see(at, ScannedRecord::BadBody(head, &bytes));
        }
        at += head.size();
    }
    see(at, ScannedRecord::End);
    Ok(at)
}

/// Reads the record at `at`, if all of it lies before `to` and its head is sound.
fn read(
    file: &File,
    nonce: u64,
    at: u64,
    to: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<RecordHead>> {
    let left = to - at;
    if left < RECORD_HEAD as u64 {
        return Ok(None);
    }
    bytes.resize(RECORD_HEAD, 0);
    file.read_exact_at(bytes, at)?;
    let head = RecordHead::read(bytes).filter(|head| head.size() <= left);
    let Some(head) = head else { return Ok(None) };
    bytes.resize(head.size() as usize, 0);
    file.read_exact_at(bytes, at)?;
    Ok(head.is_sound(bytes, nonce, at).then_some(head))
}

/// The index entry of a record that begins at `at`.
pub(super) fn entry(head: &RecordHead, at: u64) -> Entry {
    Entry {
        key: head.key,
        large: head.large,
        unit: (at / super::format::ALIGN) as u32,
        size: head.size() as u32,
        variant: head.variant,
    }
}
