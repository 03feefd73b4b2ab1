//! The folder that a site is written to: files appear whole or not at all, and nobody else's are touched.

mod draft;
mod error;

use super::name::OWN;
use draft::hash_of;
use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use store::lock::Locked;

pub use draft::Draft;
pub use error::{Blocked, FolderError, PlaceError};

/// The folder, held by this process alone.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    _lock: Locked,
    folds_case: bool,
    drafts: AtomicU64,
    /// Folders whose entries are not known to be on disk.
    touched: Mutex<BTreeSet<PathBuf>>,
}

impl Folder {
    /// Opens the folder at `root`, or makes it; what is above it must be there. What a crash has left half written goes.
    ///
    /// # Errors
    /// It cannot be written, or another process has it.
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        for folder in ["", OWN, &format!("{OWN}/pages"), &format!("{OWN}/drafts")] {
            let path = if folder.is_empty() {
                root.to_owned()
            } else {
                root.join(folder)
            };
            // A link could lead anywhere, but for the folder itself, which is as it was named.
            let is_there = if folder.is_empty() {
                path.is_dir()
            } else {
                is_folder(&path)
            };
            if !is_there {
                fs::create_dir(&path).map_err(|error| FolderError::Write(path, error))?;
            }
        }
        let lock = root.join(OWN).join("lock");
        let open = File::options().create(true).append(true).open(&lock);
        let file = open.map_err(|error| FolderError::Write(lock.clone(), error))?;
        let file = Locked::try_new(file).map_err(|error| match error {
            TryLockError::WouldBlock => FolderError::InUse(root.to_owned()),
            TryLockError::Error(error) => FolderError::Write(lock.clone(), error),
        })?;
        for draft in fs::read_dir(root.join(OWN).join("drafts"))
            .into_iter()
            .flatten()
            .flatten()
        {
            // One that cannot be removed is in nobody's way.
            let _ = fs::remove_file(draft.path());
        }
        Ok(Self {
            root: root.to_owned(),
            _lock: file,
            folds_case: root.join(OWN).join("LOCK").exists(),
            drafts: AtomicU64::new(0),
            touched: Mutex::default(),
        })
    }

    /// Whether `A` and `a` are one name there.
    pub const fn folds_case(&self) -> bool {
        self.folds_case
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Begins a file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn draft(&self) -> Result<Draft, FolderError> {
        let number = self.drafts.fetch_add(1, Relaxed);
        let path = self.root.join(OWN).join("drafts").join(number.to_string());
        Draft::create(path)
    }

    /// Whether the file `name` is as long as that and has this hash.
    pub fn holds(&self, name: &str, length: u64, hash: &str) -> bool {
        let path = self.path(name);
        let is_long =
            fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.len() == length);
        is_long && hash_of(&path).is_ok_and(|found| found == hash)
    }

    /// Whether `name` can be written: what is there is ours, or nothing.
    ///
    /// # Errors
    /// It cannot.
    pub fn is_free(&self, name: &str, is_ours: bool) -> Result<(), Blocked> {
        for (at, _) in name.match_indices('/') {
            let folder = self.path(name.get(..at).unwrap_or_default());
            match fs::symlink_metadata(&folder) {
                Ok(found) if !found.is_dir() => return Err(Blocked::NoFolder(folder)),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        let path = self.path(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() || !is_ours => Err(Blocked::Foreign(path)),
            _ => Ok(()),
        }
    }

    /// Puts a draft that is on disk (`Draft::sync`) in its place, at once and as a whole. `is_ours`: what is there may go.
    ///
    /// # Errors
    /// See `PlaceError`; what is there stays.
    pub fn place(&self, draft: &Draft, name: &str, is_ours: bool) -> Result<(), PlaceError> {
        self.is_free(name, is_ours)?;
        for (at, _) in name.match_indices('/') {
            let folder = self.path(name.get(..at).unwrap_or_default());
            if !is_folder(&folder) {
                fs::create_dir(&folder)
                    .map_err(|error| FolderError::Write(folder.clone(), error))?;
                self.touch(&folder);
            }
        }
        let path = self.path(name);
        fs::rename(&draft.path, &path).map_err(|error| FolderError::Write(path.clone(), error))?;
        self.touch(&path);
        Ok(())
    }

    /// Writes a file of our own, atomically.
    ///
    /// # Errors
    /// What was there stays.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let mut draft = self.draft()?;
        draft.write(bytes)?;
        draft.sync()?;
        let path = self.path(name);
        fs::rename(&draft.path, &path).map_err(|error| FolderError::Write(path.clone(), error))?;
        self.touch(&path);
        self.settle()
    }

    /// Removes a page's file, and the folders that are empty without it.
    ///
    /// # Errors
    /// It is still there.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && self.is_free(name, true).is_ok() => {}
            // Removed by somebody, or somebody's.
            _ => return Ok(()),
        }
        fs::remove_file(&path).map_err(|error| FolderError::Write(path.clone(), error))?;
        self.touch(&path);
        for (at, _) in name.rmatch_indices('/') {
            let folder = self.path(name.get(..at).unwrap_or_default());
            if name.get(..at) == Some(OWN) || fs::remove_dir(&folder).is_err() {
                break;
            }
            let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.remove(&folder);
            drop(touched);
            self.touch(&folder);
        }
        Ok(())
    }

    /// Waits until all that was renamed and removed is on disk.
    ///
    /// # Errors
    /// The operating system's.
    pub fn settle(&self) -> Result<(), FolderError> {
        let folders =
            std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        for folder in folders {
            let synced = File::open(&folder).and_then(|file| file.sync_all());
            synced.map_err(|error| FolderError::Write(folder, error))?;
        }
        Ok(())
    }

    fn touch(&self, path: &Path) {
        if let Some(folder) = path.parent() {
            let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.insert(folder.to_owned());
        }
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
