//! The file under the log.

use super::OpenError;
use crate::lock::Locked;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

/// Where the log's bytes are kept. Tests use one that fails.
pub(super) trait Medium: Send {
    /// Reads all bytes.
    fn read(&mut self) -> io::Result<Vec<u8>>;
    /// Writes at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written survive a power loss.
    fn sync(&mut self) -> io::Result<()>;
    /// Removes everything after the first `end` bytes.
    fn cut(&mut self, end: u64) -> io::Result<()>;
    /// Replaces everything by `bytes`. On an error, nothing is replaced.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what [`replace`](Self::replace) did survive a power loss.
    fn settle(&mut self) -> io::Result<()>;
}

/// A file, locked for this process.
#[derive(Debug)]
pub(super) struct OneFile {
    path: PathBuf,
    file: Locked,
}

impl OneFile {
    /// Opens or creates the file.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let io = |error| OpenError::Io(path.to_owned(), error);
        let file = options().truncate(false).open(path).map_err(io)?;
        let file = Locked::try_new(file).map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse(path.to_owned()),
            TryLockError::Error(error) => io(error),
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    fn put(&mut self, new: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = Locked::try_new(options().truncate(true).open(new)?)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(new, &self.path)?;
        self.file = file;
        Ok(())
    }
}

/// How a file is opened, or created, to be read and written.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    options
}

impl Medium for OneFile {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.file.set_len(end)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let new = PathBuf::from(new);
        let put = self.put(&new, bytes);
        if put.is_err() {
            let _ = fs::remove_file(&new);
        }
        put
    }

    fn settle(&mut self) -> io::Result<()> {
        let parent = self.path.parent();
        let parent = parent.filter(|parent| *parent != Path::new(""));
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }
}
