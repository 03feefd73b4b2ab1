//! The target of the access log.

use crate::config::meant::AccessTarget;
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// A target that can be opened again.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Larder's standard output.
    Stdout,
    /// The end of this file.
    File(PathBuf),
}

impl Target {
    /// `None` if the access log is off.
    pub(super) fn of(access: &AccessTarget) -> Option<Self> {
        match access {
            AccessTarget::Off => None,
            AccessTarget::Stdout => Some(Self::Stdout),
            AccessTarget::File(path) => Some(Self::File(path.clone())),
        }
    }

    /// Opens the target. Creates the file if it does not exist.
    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            // Not `io::stdout()`, which writes line by line, and under a lock that other threads hold.
            Self::Stdout => Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?)),
            Self::File(path) => open(path).map_err(|error| {
                let is_pipe = || fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo());
                let is_absent = error.raw_os_error() == Some(Errno::NXIO.raw_os_error());
                let why = if is_absent && is_pipe() {
                    "nobody reads this pipe".to_owned()
                } else {
                    error.to_string()
                };
                io::Error::new(error.kind(), format!("{}: {why}", path.display()))
            }),
        }
    }
}

/// Opens the file for appending, without blocking: opening a pipe would wait for a reader.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    // The writer has a thread of its own, which may block.
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}
