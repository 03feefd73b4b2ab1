//! The directory: who has it, what wrote it, and what lies in it.

use super::{OpenError, device::random, format::FORMAT};
use crate::lock::Locked;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    path::Path,
};

const LOCK: &str = "lock";
const ABOUT: &str = "about";
const FIRST_LINE: &str = "larder disk tier";

/// What lies in a directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub segments: Vec<u32>,
    /// Each with its length.
    pub large: Vec<(u64, u64)>,
}

/// Makes the directory where it is missing, as long as its parent is there.
pub(super) fn make(path: &Path) -> Result<(), OpenError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(OpenError::Io(path.to_owned(), error))
        }
        _ => Ok(()),
    }
}

/// Takes the directory for this process, for as long as the lock is kept.
pub(super) fn lock(path: &Path) -> Result<Locked, OpenError> {
    let lock = path.join(LOCK);
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(false).open(&lock);
    let file = opened.map_err(|error| OpenError::Io(lock.clone(), error))?;
    Locked::try_new(file).map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::InUse(path.to_owned()),
        TryLockError::Error(error) => OpenError::Io(lock, error),
    })
}

/// Whether a process has the directory.
pub(super) fn is_in_use(path: &Path) -> bool {
    let file = File::open(path.join(LOCK));
    file.is_ok_and(Locked::is_taken)
}

/// The number that was drawn when the directory was made. It is drawn anew where there is none; what was written under
/// another cannot be found any more.
pub(super) fn seed(path: &Path) -> Result<u64, OpenError> {
    if let Some(seed) = read_seed(path)? {
        return Ok(seed);
    }
    let seed = random();
    let error = |error| OpenError::Io(path.join(ABOUT), error);
    write_seed(path, seed).map_err(error)?;
    Ok(seed)
}

/// The number, where there is one.
pub(super) fn read_seed(path: &Path) -> Result<Option<u64>, OpenError> {
    let about = path.join(ABOUT);
    let text = match fs::read(&about) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::Io(about, error)),
    };
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
    Ok(seed)
}

fn write_seed(path: &Path, seed: u64) -> io::Result<()> {
    let new = path.join("about.new");
    let mut file = File::create(&new)?;
    write!(
        file,
        "{FIRST_LINE}\nformat {FORMAT}\nseed {seed:016x}\nMade by larder serve; may be removed while it does not run.\n"
    )?;
    file.sync_all()?;
    fs::rename(&new, path.join(ABOUT))?;
    File::open(path)?.sync_all()
}

/// What lies in the directory. Names that are none of ours are left alone.
pub(super) fn list(path: &Path) -> Result<Listing, OpenError> {
    let error = |error| OpenError::Io(path.to_owned(), error);
    let mut listing = Listing::default();
    for entry in fs::read_dir(path).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = entry.file_name();
        let Some((kind, number)) = name.to_str().and_then(|name| name.split_once('-')) else {
            continue;
        };
        match (kind, number.len()) {
            ("segment", 8) => listing.segments.extend(u32::from_str_radix(number, 16)),
            ("large", 16) => {
                if let Ok(id) = u64::from_str_radix(number, 16) {
                    let length = entry.metadata().map_err(error)?.len();
                    listing.large.push((id, length));
                }
            }
            _ => {}
        }
    }
    Ok(listing)
}
