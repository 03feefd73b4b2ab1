//! Who keeps a large file open.

use std::{
    fs::File,
    sync::{Arc, Weak},
};

/// A large file as it is open, or not.
#[derive(Debug, Default)]
pub(super) enum Descriptor {
    /// It is not made yet.
    #[default]
    None,
    /// No record names it: whoever holds the body keeps it open.
    Own(Arc<File>),
    /// A record names it, by which it is found and opened again: who reads it or [holds](crate::disk::OnDisk::held) it keeps it open, and nobody else but
    /// [`OpenFiles`](crate::disk::files::OpenFiles) a few. What memory holds keeps no file open, and none that has made room for others.
    Shared(Weak<File>),
}

impl Descriptor {
    /// The file; `None` where it is not made, or nobody has it open any more.
    pub fn file(&self) -> Option<Arc<File>> {
        match self {
            Self::None => None,
            Self::Own(file) => Some(file.clone()),
            Self::Shared(file) => file.upgrade(),
        }
    }

    /// The file; it is others' to keep it open from now on. `None` as above.
    pub fn share(&mut self) -> Option<Arc<File>> {
        let file = self.file();
        if let Self::Own(file) = self {
            *self = Self::Shared(Arc::downgrade(file));
        }
        file
    }

    /// Whether nobody has it open any more.
    pub fn is_left(&self) -> bool {
        matches!(self, Self::Shared(file) if file.strong_count() == 0)
    }
}
