//! The program's own files, which are kept open.

use super::FolderError;
use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Opens one of the program's own files to read it and to append to it, or creates it. What is no file is refused, and so
/// is a link, which could lead anywhere.
///
/// # Errors
/// See [`FolderError`].
pub fn open_own(path: &Path) -> Result<File, FolderError> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(FolderError::NoFile(path.to_owned()));
    }
    // A link that has come in between is refused too.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = File::options();
    let options = options.read(true).append(true).create(true);
    let opened = options.custom_flags(flags).open(path);
    opened.map_err(|error| FolderError::Write(path.to_owned(), error))
}
