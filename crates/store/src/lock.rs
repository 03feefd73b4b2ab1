//! Files that one process at a time has.

use std::{
    fs::{File, TryLockError},
    ops::{Deref, DerefMut},
};

/// An open file with an exclusive lock, given back when this goes. To close it would not be enough: a process that is being
/// started at that moment has all files open until it runs its own program, and a lock lasts as long as anyone has it open.
#[derive(Debug)]
pub struct Locked(File);

impl Locked {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another has it, or the file system has no locks.
    pub fn try_new(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Whether another has it. Those who ask at the same time do not take each other for that.
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
        // Where it fails, closing the file does it.
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
