//! Tracks who keeps a large file open.

use std::{
    fs::File,
    sync::{Arc, Weak},
};

/// The state of a large file's descriptor.
#[derive(Debug, Default)]
pub(super) enum Descriptor {
    /// The file is not made yet.
    #[default]
    None,
    /// No record names the file. Whoever holds the body keeps it open.
    Own(Arc<File>),
    /// A record names the file, by which it is found and opened again. Those who read it or
    /// [hold](crate::disk::OnDisk::held) it keep it open. Nobody else does, except
    /// [`OpenFiles`](crate::disk::files::OpenFiles) for a few. So what memory holds keeps no file open, and no evicted
    /// one.
    Shared(Weak<File>),
}

impl Descriptor {
    /// The file; `None` if it is not made, or nobody has it open any longer.
    pub fn file(&self) -> Option<Arc<File>> {
        match self {
            Self::None => None,
            Self::Own(file) => Some(file.clone()),
            Self::Shared(file) => file.upgrade(),
        }
    }

    /// Returns the file, which others must keep open from now on. `None` as in [`file`](Self::file).
    pub fn share(&mut self) -> Option<Arc<File>> {
        let file = self.file();
        if let Self::Own(file) = self {
            *self = Self::Shared(Arc::downgrade(file));
        }
        file
    }

    /// Whether nobody has it open any longer.
    pub fn is_left(&self) -> bool {
        matches!(self, Self::Shared(file) if file.strong_count() == 0)
    }
}
