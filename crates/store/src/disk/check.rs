//! Inspects a directory from outside, for `larder disk stat` and `larder disk verify`. Writes nothing.

mod records;

use super::{
    OpenError, chunk,
    device::{large_name, open_file, segment_name},
    directory,
    format::{Beginning, CHUNK, FILE_HEAD, FileHead, Kind, SUM, large_sum},
    layout,
    segment::{Opened, Segment},
};
use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// What a directory holds, as its indexes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Whether a process uses the directory.
    pub is_in_use: bool,
    /// Segments.
    pub segments: u64,
    /// Segments without an index: the one that is being written, and those that a crash left.
    pub unsealed: u64,
    /// Records in sealed segments, superseded ones included.
    pub records: u64,
    /// Files that hold one large body each.
    pub large_files: u64,
    /// Bytes of segments.
    pub segment_bytes: u64,
    /// Bytes of large files.
    pub large_bytes: u64,
}

/// A fault in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The offset in the file.
    pub offset: u64,
    /// The kind of fault.
    pub what: What,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The file does not begin with the header of such a file.
    FileHead,
    /// The index of a sealed segment is damaged, or does not agree with its records.
    Index,
    /// The labels of a sealed segment are damaged. They are made again from its records.
    Labels,
    /// A record that the index names is not there, or its head is damaged.
    Record,
    /// The bytes of a record's body are damaged.
    Body,
    /// A chunk of a large file is damaged, or the file ends before it does.
    Chunk,
    /// The end of a segment that was never sealed is incomplete, or there is nothing before it. Nothing is lost that could
    /// have been found.
    Torn,
    /// The file cannot be read.
    Unreadable,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            What::FileHead => "not the header of such a file",
            What::Index => "the index is damaged",
            What::Labels => "the labels of records are damaged",
            What::Record => "no sound record here",
            What::Body => "the body of a record is damaged",
            What::Chunk => "a chunk is damaged",
            What::Torn => "the end was never whole (nothing is lost)",
            What::Unreadable => "cannot be read",
        };
        write!(f, "{} at {}: {what}", self.file.display(), self.offset)
    }
}

/// The result of [`verify`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Sound records, superseded ones included.
    pub records: u64,
    /// Sound large files.
    pub large_files: u64,
    /// Large bodies that are no longer kept, because they were purged, replaced, or went to make room. Their records go
    /// later, with their segments.
    pub given_up: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Faults, without incomplete ends ([`What::Torn`]).
    pub faults: u64,
}

/// Says what the directory holds. The directory may be in use.
///
/// # Errors
/// The directory cannot be read, is no disk tier, or a newer version wrote it.
pub fn stat(path: &Path) -> Result<Stat, OpenError> {
    let (seed, listing) = look(path)?;
    let mut stat = Stat {
        is_in_use: directory::is_in_use(path),
        large_files: listing.large.len() as u64,
        large_bytes: listing.large.iter().map(|(_, bytes)| bytes).sum(),
        ..Stat::default()
    };
    for id in listing.segments {
        let name = path.join(segment_name(id));
        // A segment that is removed while we look counts as not there.
        stat.segment_bytes += fs::metadata(&name).map_or(0, |about| about.len());
        stat.segments += 1;
        let opened = Segment::file(&name, false).and_then(|file| Segment::of(file, id, seed));
        let index = match opened {
            Ok(Opened::Segment(segment)) => segment.index().ok().flatten(),
            _ => None,
        };
        match index {
            Some((_, entries)) => stat.records += entries.len() as u64,
            None => stat.unsealed += 1,
        }
    }
    Ok(stat)
}

/// Reads every byte of the directory, and calls `see` with each fault. While the directory is in use, what is being
/// written may look torn, and what is removed meanwhile counts as no longer kept.
///
/// # Errors
/// The directory cannot be read at all, is no disk tier, or a newer version wrote it.
pub fn verify(path: &Path, see: &mut dyn FnMut(&Fault)) -> Result<Verified, OpenError> {
    let (seed, mut listing) = look(path)?;
    listing.segments.sort_unstable();
    let mut check = Check {
        path,
        seed,
        see,
        done: Verified::default(),
        named: HashMap::new(),
    };
    for id in listing.segments {
        let name = path.join(segment_name(id));
        if check.segment(&name, id).is_err() {
            check.fault(&name, 0, What::Unreadable);
        }
    }
    let mut named: Vec<_> = std::mem::take(&mut check.named).into_iter().collect();
    named.sort_unstable();
    for (id, (nonce, length)) in named {
        let name = path.join(large_name(id));
        match check.large(&name, id, nonce, length) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                check.done.given_up += 1;
            }
            Err(_) => check.fault(&name, 0, What::Unreadable),
        }
    }
    Ok(check.done)
}

/// The random number of the directory, or 0 if what said it is lost, and the files of the tier.
fn look(path: &Path) -> Result<(u64, directory::Listing), OpenError> {
    let seed = directory::read_seed(path)?;
    let listing = directory::list(path)?;
    if seed.is_none() && listing.segments.is_empty() && listing.large.is_empty() {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    Ok((seed.unwrap_or(0), listing))
}

struct Check<'a> {
    path: &'a Path,
    seed: u64,
    see: &'a mut dyn FnMut(&Fault),
    done: Verified,
    /// The large files that records name: the nonce of each, and the length of its body.
    named: HashMap<u64, (u64, u64)>,
}

impl Check<'_> {
    fn fault(&mut self, file: &Path, offset: u64, what: What) {
        if what != What::Torn {
            self.done.faults += 1;
        }
        let file = file.strip_prefix(self.path).unwrap_or(file).to_owned();
        (self.see)(&Fault { file, offset, what });
    }

    fn segment(&mut self, name: &Path, id: u32) -> io::Result<()> {
        let file = Segment::file(name, false)?;
        match Segment::of(file, id, self.seed)? {
            Opened::Segment(segment) => self.records(name, &segment)?,
            Opened::Unwritten => self.fault(name, 0, What::Torn),
            Opened::Foreign | Opened::Damaged => self.fault(name, 0, What::FileHead),
        }
        Ok(())
    }

    /// Checks a large file that a record names.
    fn large(&mut self, name: &Path, id: u64, nonce: u64, length: u64) -> io::Result<()> {
        let file = open_file(OpenOptions::new().read(true), name)?;
        let mut head = [0; FILE_HEAD];
        let named = FileHead {
            kind: Kind::Large,
            id,
            nonce,
            directory: self.seed,
        };
        let is_there = reads(&file, &mut head, 0)?;
        match named.compare(&head) {
            Beginning::Expected if is_there => {}
            Beginning::Another => {
                self.done.given_up += 1;
                return Ok(());
            }
            Beginning::Expected | Beginning::Damaged => {
                self.fault(name, 0, What::FileHead);
                return Ok(());
            }
        }
        self.done.bytes += file.metadata()?.len();
        let before = self.done.faults;
        let (mut sum, mut chunk) = ([0; SUM], Vec::new());
        for number in 0..length.div_ceil(CHUNK as u64) {
            chunk.resize(
                (chunk::end(number, length) - chunk::begin(number)) as usize,
                0,
            );
            let at = layout::offset(number);
            let is_there = reads(&file, &mut sum, layout::sum_offset(number))?
                && reads(&file, &mut chunk, at)?;
            if !is_there || large_sum(&chunk, nonce, number) != sum {
                self.fault(name, at, What::Chunk);
            }
            if !is_there {
                break;
            }
        }
        self.done.large_files += u64::from(self.done.faults == before);
        Ok(())
    }
}

/// Fills `into` from `offset` of `file`. False if the file ends before that.
fn reads(file: &File, into: &mut [u8], offset: u64) -> io::Result<bool> {
    match file.read_exact_at(into, offset) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
