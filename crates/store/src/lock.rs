//! Files that one process has at a time.

use std::{
    fs::{File, TryLockError},
    ops::{Deref, DerefMut},
};

/// An open file with an exclusive lock. The lock is released explicitly on drop, because closing the file would not be
/// enough: a process that is being started at that moment has all files open until it runs its own program, and a lock
/// lasts as long as anyone has the file open.
#[derive(Debug)]
pub struct Locked(File);

impl Locked {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another has the lock, or the file system has no locks.
    pub fn try_new(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Whether another has the lock. Two that ask at the same time do not see each other as holders.
    pub fn is_taken(file: File) -> bool {
        match file.try_lock_shared() {
            Ok(()) => {
                drop(Self(file));
                false
            }
            Err(error) => matches!(error, TryLockError::WouldBlock),
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = self.0.unlock();
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}
