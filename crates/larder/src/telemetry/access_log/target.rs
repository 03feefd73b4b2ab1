//! Where the access log goes.

use crate::config::meant::AccessTarget;
use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::AsFd,
    path::PathBuf,
};

/// Somewhere to write, that can be opened again.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Our standard output.
    Stdout,
    /// The end of this file.
    File(PathBuf),
}

impl Target {
    /// `None` where nothing is to be written.
    pub(super) fn of(access: &AccessTarget) -> Option<Self> {
        match access {
            AccessTarget::Off => None,
            AccessTarget::Stdout => Some(Self::Stdout),
            AccessTarget::File(path) => Some(Self::File(path.clone())),
        }
    }

    /// Opens it, making the file where there is none.
    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            // Not `io::stdout()` itself, which writes line by line and under a lock that others hold.
            Self::Stdout => Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?)),
            Self::File(path) => OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                }),
        }
    }
}
