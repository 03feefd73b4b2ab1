//! The folder that a site is written to. Files appear whole or not at all, and files of others are not touched.

mod draft;
mod error;
mod own;

use super::name::OWN;
use draft::hash_of;
use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use store::lock::Locked;

pub use draft::Draft;
pub use error::{Blocked, FolderError, PlaceError};
pub use own::open_own;

/// Whose the file of a name is, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Ours: it may be replaced.
    Ours,
    /// Somebody else's: it is not touched.
    Others,
}

/// The folder, held by this process alone.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    _lock: Locked,
    folds_case: bool,
    drafts: AtomicU64,
    /// Held while files are put in place and removed: several pages are written at a time, and folders come with the
    /// first file in them and go with the last.
    moving: Mutex<()>,
    /// Folders whose entries may not be on disk yet.
    touched: Mutex<BTreeSet<PathBuf>>,
}

impl Folder {
    /// Opens the folder at `root`, or creates it; its parent must exist. Removes what a crash has left half written.
    ///
    /// # Errors
    /// The folder cannot be written, or another process has it.
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        for folder in ["", OWN, &format!("{OWN}/pages"), &format!("{OWN}/drafts")] {
            let path = if folder.is_empty() {
                root.to_owned()
            } else {
                root.join(folder)
            };
            // A link could lead anywhere and is refused, except for the folder itself, which the user named.
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
        let file = Locked::try_new(open_own(&lock)?).map_err(|error| match error {
            TryLockError::WouldBlock => FolderError::InUse(root.to_owned()),
            TryLockError::Error(error) => FolderError::Write(lock.clone(), error),
        })?;
        for draft in fs::read_dir(root.join(OWN).join("drafts"))
            .into_iter()
            .flatten()
            .flatten()
        {
            // A draft that cannot be removed does no harm.
            let _ = fs::remove_file(draft.path());
        }
        Ok(Self {
            root: root.to_owned(),
            _lock: file,
            folds_case: root.join(OWN).join("LOCK").exists(),
            drafts: AtomicU64::new(0),
            moving: Mutex::default(),
            touched: Mutex::default(),
        })
    }

    /// Whether `A` and `a` are the same name in this folder.
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
    /// Those of the operating system.
    pub fn draft(&self) -> Result<Draft, FolderError> {
        let number = self.drafts.fetch_add(1, Relaxed);
        let path = self.root.join(OWN).join("drafts").join(number.to_string());
        Draft::create(path)
    }

    /// Whether the file `name` has this length and this hash.
    pub fn holds(&self, name: &str, length: u64, hash: &str) -> bool {
        let path = self.path(name);
        let is_long =
            fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.len() == length);
        is_long && hash_of(&path).is_ok_and(|found| found == hash)
    }

    /// Checks whether `name` can be written: nothing is there, or a file of ours.
    ///
    /// # Errors
    /// The name cannot be written.
    pub fn is_free(&self, name: &str, whose: Whose) -> Result<(), Blocked> {
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
            Ok(found) if !found.is_file() || whose == Whose::Others => Err(Blocked::Foreign(path)),
            _ => Ok(()),
        }
    }

    /// Puts a draft that is on disk (`Draft::sync`) in its place, atomically.
    ///
    /// # Errors
    /// See `PlaceError`; an existing file stays.
    pub fn place(&self, draft: &Draft, name: &str, whose: Whose) -> Result<(), PlaceError> {
        let _moving = lock(&self.moving);
        self.is_free(name, whose)?;
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

    /// Writes one of the program's own files, atomically.
    ///
    /// # Errors
    /// The file stays as it was.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let mut draft = self.draft()?;
        draft.write(bytes)?;
        draft.sync()?;
        let path = self.path(name);
        fs::rename(&draft.path, &path).map_err(|error| FolderError::Write(path.clone(), error))?;
        self.touch(&path);
        self.settle()
    }

    /// Removes the file of a page, and the folders that are empty without it.
    ///
    /// # Errors
    /// The file is still there.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let _moving = lock(&self.moving);
        let path = self.path(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && self.is_free(name, Whose::Ours).is_ok() => {}
            // Already removed, or a file of somebody else.
            _ => return Ok(()),
        }
        fs::remove_file(&path).map_err(|error| FolderError::Write(path.clone(), error))?;
        self.touch(&path);
        for (at, _) in name.rmatch_indices('/') {
            let folder = self.path(name.get(..at).unwrap_or_default());
            if name.get(..at) == Some(OWN) || fs::remove_dir(&folder).is_err() {
                break;
            }
            lock(&self.touched).remove(&folder);
            self.touch(&folder);
        }
        Ok(())
    }

    /// Waits until everything that was renamed and removed is on disk.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn settle(&self) -> Result<(), FolderError> {
        let folders = std::mem::take(&mut *lock(&self.touched));
        for folder in folders {
            let synced = File::open(&folder).and_then(|file| file.sync_all());
            synced.map_err(|error| FolderError::Write(folder, error))?;
        }
        Ok(())
    }

    fn touch(&self, path: &Path) {
        if let Some(folder) = path.parent() {
            lock(&self.touched).insert(folder.to_owned());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests;
