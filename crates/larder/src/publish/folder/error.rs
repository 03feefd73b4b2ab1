//! Why nothing can be written, or why one page cannot.

use std::{io, path::PathBuf};

/// Why nothing can be written at all. The operator can mend these.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process publishes to this folder.
    #[error("{0}: another larder publish is at work there")]
    InUse(PathBuf),
    /// There is no file where one of the program's own belongs, but a link or something else.
    #[error("{0} is a link, or no file: nothing is written there; remove it")]
    NoFile(PathBuf),
    /// The operating system refuses: no space, no permission, a broken disk. Nothing that was there is harmed.
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, io::Error),
    /// A thread that wrote did not finish.
    #[error("writing ended early: {0}")]
    Ended(String),
}

/// Why one page cannot be written, although others can. The operator can mend these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// Another file is already there.
    #[error("{0} is there and was not written by larder publish: it is left alone")]
    Foreign(PathBuf),
    /// Something other than a folder is there.
    #[error("{0} is there and is no folder: it is left alone")]
    NoFolder(PathBuf),
}

/// Why a page could not be put in its place.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The error concerns only this page.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// The error concerns everything.
    #[error(transparent)]
    Folder(#[from] FolderError),
}
