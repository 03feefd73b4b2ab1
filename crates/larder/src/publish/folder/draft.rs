//! A file that is being written, and the hash of its bytes.

use super::FolderError;
use std::{
    fmt,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3;

/// A file that is being written and belongs to no page yet. It is removed when dropped.
pub struct Draft {
    pub(super) path: PathBuf,
    file: File,
    hash: Box<Xxh3>,
    length: u64,
}

impl Draft {
    /// Creates a draft at `path`.
    pub(super) fn create(path: PathBuf) -> Result<Self, FolderError> {
        let created = File::create(&path);
        let file = created.map_err(|error| FolderError::Write(path.clone(), error))?;
        Ok(Self {
            path,
            file,
            hash: Box::default(),
            length: 0,
        })
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| FolderError::Write(self.path.clone(), error))?;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Waits until the draft is on disk.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn sync(&self) -> Result<(), FolderError> {
        let synced = self.file.sync_all();
        synced.map_err(|error| FolderError::Write(self.path.clone(), error))
    }

    /// The number of bytes written.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The XXH3 hash of the bytes, 128 bits, in hexadecimal.
    pub fn hash(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The file is gone from here if it was put in its place.
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) fn hash_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3::default();
    let mut piece = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok(format!("{:032x}", hash.digest128()));
        }
        hash.update(piece.get(..length).unwrap_or_default());
    }
}
