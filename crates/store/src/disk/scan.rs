//! Reads a segment record by record, where its index is missing or cannot be trusted.

use super::format::{ALIGN, CHUNK, Entry, RECORD_HEAD, RecordHead, is_chunk_sound, seed};
use std::{fs::File, io, os::unix::fs::FileExt};

/// What a power loss leaves out of a file begins and ends at multiples of this, and reads as zeros.
pub(super) const SECTOR: u64 = 512;
/// Bytes that are searched at a time.
const WINDOW: u64 = 1 << 20;
/// At most this many places that look like a record are looked at. Content may be full of them.
const MOST_LOOKS: u32 = 256;

/// What the scan found at one place of a segment.
pub(super) enum ScannedRecord<'a> {
    /// A sound record: its header, and all its bytes.
    Sound(RecordHead, &'a [u8]),
    /// A record whose body is not what was written: its header, and all its bytes.
    BadBody(RecordHead, &'a [u8]),
    /// No record begins here, or its head is not what was written, or it is the last and lacks its end: the scan does not
    /// go on behind it.
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
    let (mut bytes, mut next) = (Vec::new(), Vec::new());
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
        } else if lacks_its_end(&bytes, at)
            && read(file, nonce, at + head.size(), to, &mut next)?.is_none()
        {
            break;
        } else {
            see(at, ScannedRecord::BadBody(head, &bytes));
        }
        at += head.size();
    }
    see(at, ScannedRecord::End);
    Ok(at)
}

/// Whether the last sector of the record at `at` was never written: it is zeros.
pub(super) fn lacks_its_end(record: &[u8], at: u64) -> bool {
    let end = at + record.len() as u64;
    let sector = end.saturating_sub(1) / SECTOR * SECTOR;
    let last = record.get(sector.saturating_sub(at) as usize..);
    last.is_some_and(|last| last.iter().all(|byte| *byte == 0))
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

/// Whether a sound record begins anywhere behind `from`, where none does. No content can look like one: it would have to
/// know the file's nonce.
pub(super) fn is_followed(file: &File, nonce: u64, from: u64, to: u64) -> io::Result<bool> {
    let (mut window, mut record) = (Vec::new(), Vec::new());
    let (mut at, mut looked) = (from + ALIGN, 0);
    while at < to {
        window.resize((to - at).min(WINDOW) as usize, 0);
        file.read_exact_at(&mut window, at)?;
        let units = window.chunks_exact(ALIGN as usize).enumerate();
        for (unit, _) in units.filter(|(_, bytes)| RecordHead::is_like(bytes)) {
            let place = at + unit as u64 * ALIGN;
            if read(file, nonce, place, to, &mut record)?.is_some() {
                return Ok(true);
            }
            looked += 1;
            if looked == MOST_LOOKS {
                return Ok(false);
            }
        }
        at += WINDOW;
    }
    Ok(false)
}

/// The index entry of a record that begins at `at`.
pub(super) fn entry(head: &RecordHead, at: u64) -> Entry {
    Entry {
        key: head.key,
        large: head.large,
        unit: (at / ALIGN) as u32,
        size: head.size() as u32,
        variant: head.variant,
    }
}
