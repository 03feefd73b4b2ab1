//! A segment's file.

use super::{
    device::{open_file, random},
    format::{ENTRY, Entry, FILE_HEAD, FileHead, Kind, TRAILER, Trailer},
    passing::{PAUSE, patiently},
};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// A segment: one thread writes it, all threads read it.
#[derive(Debug)]
pub(super) struct Segment {
    pub id: u32,
    pub file: File,
    pub nonce: u64,
    /// Bytes that count against the limit.
    pub bytes: AtomicU64,
    /// The smallest number of the log that any record was checked up to.
    pub checked: AtomicU64,
    /// Whether it was evicted: its file has no name any more, and lasts for those who read it.
    is_gone: AtomicBool,
}

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum Opened {
    /// A segment of this directory.
    Segment(Segment),
    /// A segment of another directory, which this may have been, of another number or version. Nothing in it can be found.
    Foreign,
    /// A crash came before its header was written. Nothing that was synced is lost.
    Unwritten,
    /// Its header is not what was written, and nothing in it can be verified.
    Damaged,
}

/// Whether a file of `length` bytes ends like a segment that was sealed. All of such a file was synced, so that no crash
/// takes any of it.
fn is_sealed(file: &File, length: u64) -> io::Result<bool> {
    let Some(at) = length.checked_sub(TRAILER as u64) else {
        return Ok(false);
    };
    let mut trailer = [0; TRAILER];
    patiently(PAUSE, || file.read_exact_at(&mut trailer, at))?;
    Ok(Trailer::is_like(&trailer))
}

impl Segment {
    /// Creates a new segment.
    pub fn create(path: &Path, id: u32, directory: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        let head = FileHead {
            kind: Kind::Segment,
            id: id.into(),
            nonce: random(),
            directory,
        };
        if let Err(error) = file.write_all_at(&head.write(), 0) {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(Self {
            id,
            file,
            nonce: head.nonce,
            bytes: AtomicU64::new(FILE_HEAD as u64),
            checked: AtomicU64::new(u64::MAX),
            is_gone: AtomicBool::new(false),
        })
    }

    /// Opens the file of a segment. `writable`: it may have to be mended.
    pub fn file(path: &Path, writable: bool) -> io::Result<File> {
        open_file(OpenOptions::new().read(true).write(writable), path)
    }

    /// Reads the header of a segment's file.
    pub fn of(file: File, id: u32, directory: u64) -> io::Result<Opened> {
        let length = file.metadata()?.len();
        let mut bytes = [0; FILE_HEAD];
        match patiently(PAUSE, || file.read_exact_at(&mut bytes, 0)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Opened::Unwritten);
            }
            read => read?,
        }
        let is_ours = |head: &FileHead| {
            head.kind == Kind::Segment && head.id == u64::from(id) && head.directory == directory
        };
        let Some(head) = FileHead::read(&bytes).filter(is_ours) else {
            let is_unwritten = bytes == [0; FILE_HEAD] && !is_sealed(&file, length)?;
            return Ok(match FileHead::is_sound(&bytes) {
                true => Opened::Foreign,
                false if is_unwritten => Opened::Unwritten,
                false => Opened::Damaged,
            });
        };
        Ok(Opened::Segment(Self {
            id,
            file,
            nonce: head.nonce,
            bytes: AtomicU64::new(length),
            checked: AtomicU64::new(u64::MAX),
            is_gone: AtomicBool::new(false),
        }))
    }

    /// Reads the trailer; `None` if the segment was never sealed, or the trailer is damaged.
    pub fn trailer(&self) -> io::Result<Option<Trailer>> {
        let length = self.file.metadata()?.len();
        let Some(at) = length.checked_sub(TRAILER as u64) else {
            return Ok(None);
        };
        let mut trailer = [0; TRAILER];
        self.file.read_exact_at(&mut trailer, at)?;
        Ok(Trailer::read(&trailer, self.nonce, at))
    }

    /// Reads the trailer and the index behind the records; `None` if the segment was never sealed, or either is
    /// damaged.
    pub fn index(&self) -> io::Result<Option<(Trailer, Vec<Entry>)>> {
        let Some(trailer) = self.trailer()? else {
            return Ok(None);
        };
        // The trailer's checksum and place agree, so that there are this many bytes.
        let mut bytes = vec![0; trailer.count as usize * ENTRY];
        self.file.read_exact_at(&mut bytes, trailer.index)?;
        let entries = trailer.entries(&bytes, self.nonce);
        Ok(entries.map(|entries| (trailer, entries)))
    }

    /// Reads the labels of its records; `None` if it was never sealed, or the labels are missing or damaged.
    pub fn labels(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(trailer) = self.trailer()? else {
            return Ok(None);
        };
        if trailer.labels == 0 && trailer.count > 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; trailer.labels as usize];
        self.file.read_exact_at(&mut bytes, trailer.labels_at())?;
        let is_sound = trailer.are_labels(&bytes, self.nonce);
        Ok(is_sound.then_some(bytes))
    }

    /// Writes the index and `labels` behind the last record, which ends at `end`, and syncs all of it to the device.
    /// Returns the length of the segment.
    pub fn seal(&self, entries: &[Entry], labels: &[u8], end: u64) -> io::Result<u64> {
        let checked = self.checked.load(Relaxed);
        let trailer = Trailer::write(entries, labels, end, checked, self.nonce);
        self.file.set_len(end)?;
        self.file.write_all_at(&trailer, end)?;
        self.file.sync_data()?;
        Ok(end + trailer.len() as u64)
    }

    /// Notes that it was evicted.
    pub fn leave(&self) {
        self.is_gone.store(true, Relaxed);
    }

    /// Whether it was evicted: then nobody may begin to read it.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Relaxed)
    }

    /// Notes that a record was checked up to `checked`.
    pub fn note(&self, checked: u64) {
        self.checked.fetch_min(checked, Relaxed);
    }
}
