//! The directory: which process has it, which version wrote it, and which files lie in it.

use super::{
    OpenError,
    device::{open_file, random},
    format::FORMAT,
};
use crate::lock::Locked;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Write},
    path::{Path, absolute},
};

const LOCK: &str = "lock";
const ABOUT: &str = "about";
const FIRST_LINE: &str = "larder disk tier";

/// Files with greater numbers are not ours: that many are never written, and there must be numbers left after them.
const LAST_SEGMENT: u32 = u32::MAX / 2;
const LAST_LARGE: u64 = u64::MAX / 2;

/// The files in a directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub segments: Vec<u32>,
    /// Each with its length.
    pub large: Vec<(u64, u64)>,
}

/// Makes the directory if it is missing. Its parent must exist.
pub(super) fn make(path: &Path) -> Result<(), OpenError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(OpenError::Io(path.to_owned(), error))
        }
        _ => Ok(()),
    }
}

/// Takes the directory for this process until the lock is dropped.
pub(super) fn lock(path: &Path) -> Result<Locked, OpenError> {
    let lock = path.join(LOCK);
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false);
    let file = open_file(options, &lock).map_err(|error| OpenError::Io(lock.clone(), error))?;
    Locked::try_new(file).map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::InUse(path.to_owned()),
        TryLockError::Error(error) => OpenError::Io(lock, error),
    })
}

/// Whether a process uses the directory.
pub(super) fn is_in_use(path: &Path) -> bool {
    let file = open_file(OpenOptions::new().read(true), &path.join(LOCK));
    file.is_ok_and(Locked::is_taken)
}

/// The state in which the directory was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// New, or as the last run left it.
    Good,
    /// The last run had another log of purges.
    BesideAnotherLog,
}

/// The content of the file that describes the directory.
#[derive(Debug)]
struct About {
    seed: u64,
    /// Where the log of purges was, in a form that fits into a line. `None` if an earlier version wrote the file, which
    /// did not say.
    log: Option<String>,
}

/// The random number of the directory, and how the directory was found. `log` is [`Config::log`](super::Config::log). A
/// new number is drawn if there is none, or if the log was a different one: what was written under another number
/// cannot be found any more.
pub(super) fn seed(path: &Path, log: Option<&Path>) -> Result<(u64, Before), OpenError> {
    let log = place(log);
    let (seed, before) = match read(path)? {
        Some(About {
            seed,
            log: Some(last),
        }) if last == log => return Ok((seed, Before::Good)),
        Some(About { log: Some(_), .. }) => (random(), Before::BesideAnotherLog),
        Some(About { seed, log: None }) => (seed, Before::Good),
        None => (random(), Before::Good),
    };
    let error = |error| OpenError::Io(path.join(ABOUT), error);
    write(path, seed, &log).map_err(error)?;
    Ok((seed, before))
}

/// The place of the log as it is written. A log in the directory itself is named without its path, so that the
/// directory can be moved.
fn place(log: Option<&Path>) -> String {
    let Some(log) = log else {
        return "here".to_owned();
    };
    let log = absolute(log).unwrap_or_else(|_| log.to_owned());
    log.as_os_str()
        .as_encoded_bytes()
        .escape_ascii()
        .to_string()
}

/// The random number of the directory, if it has one.
pub(super) fn read_seed(path: &Path) -> Result<Option<u64>, OpenError> {
    Ok(read(path)?.map(|about| about.seed))
}

fn read(path: &Path) -> Result<Option<About>, OpenError> {
    let about = path.join(ABOUT);
    let mut bytes = Vec::new();
    let file = open_file(OpenOptions::new().read(true), &about);
    match file.and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::Io(about, error)),
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Ok(None);
    }
    let mut value = |name| lines.next().and_then(|line| line.strip_prefix(name));
    let format: Option<u32> = value("format ").and_then(|text| text.parse().ok());
    match format {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => return Err(OpenError::Newer(path.to_owned(), newer)),
        _ => return Ok(None),
    }
    let seed = value("seed ").and_then(|text| u64::from_str_radix(text, 16).ok());
    let log = value("purges ").map(str::to_owned);
    Ok(seed.map(|seed| About { seed, log }))
}

fn write(path: &Path, seed: u64, log: &str) -> io::Result<()> {
    let new = path.join("about.new");
    let mut options = OpenOptions::new();
    let mut file = open_file(options.write(true).create(true).truncate(true), &new)?;
    write!(
        file,
        "{FIRST_LINE}\nformat {FORMAT}\nseed {seed:016x}\npurges {log}\nMade by larder serve; may be removed while it does not run.\n"
    )?;
    file.sync_all()?;
    fs::rename(&new, path.join(ABOUT))?;
    File::open(path)?.sync_all()
}

/// Lists the files in the directory. Names that are not ours are ignored.
pub(super) fn list(path: &Path) -> Result<Listing, OpenError> {
    let error = |error| OpenError::Io(path.to_owned(), error);
    let mut listing = Listing::default();
    for entry in fs::read_dir(path).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = entry.file_name();
        let Some((kind, number)) = name.to_str().and_then(|name| name.split_once('-')) else {
            continue;
        };
        // Only digits as we write them: otherwise another file could have the same number.
        let is_ours = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match (kind, number.len()) {
            _ if !number.bytes().all(is_ours) => {}
            ("segment", 8) => {
                let id = u32::from_str_radix(number, 16).ok();
                listing.segments.extend(id.filter(|id| *id <= LAST_SEGMENT));
            }
            ("large", 16) => {
                let id = u64::from_str_radix(number, 16).ok();
                if let Some(id) = id.filter(|id| *id <= LAST_LARGE) {
                    let length = entry.metadata().map_err(error)?.len();
                    listing.large.push((id, length));
                }
            }
            _ => {}
        }
    }
    Ok(listing)
}
