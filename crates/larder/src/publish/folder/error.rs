//! Why nothing can be written, or one page cannot.

use std::{io, path::PathBuf};

/// Why nothing can be written at all. For the operator to mend.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process publishes there.
    #[error("{0}: another larder publish is at work there")]
    InUse(PathBuf),
    /// The operating system says no: no room, no right, a broken disk. Nothing that was there is harmed.
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, io::Error),
    /// A thread that wrote came to no end.
    #[error("writing ended early: {0}")]
    Ended(String),
}

/// Why one page cannot be written, and others can. For the operator to mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// There is a file already.
    #[error("{0} is there and was not written by larder publish: it is left alone")]
    Foreign(PathBuf),
    /// There is no folder, but something else.
    #[error("{0} is there and is no folder: it is left alone")]
    NoFolder(PathBuf),
}

/// How putting a page in its place failed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// This page alone.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// Everything.
    #[error(transparent)]
    Folder(#[from] FolderError),
}
