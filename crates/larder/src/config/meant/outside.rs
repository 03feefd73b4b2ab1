//! Whether the files and folders that Larder writes have a place, and this user may write there. Nothing is created or
//! opened: opening a pipe and closing it would look like its end to the reader.
//!
//! Paths are told as absolute ones: they are relative to the working directory, which may not be that of the server.

use super::{AccessTarget, Sink};
use crate::config::{Fault, value::At, written};
use rustix::fs::{Access, access};
use std::{
    fs, io,
    ops::Range,
    path::{self, Path, PathBuf},
};

pub(super) fn check(written: &written::Config, sink: &mut Sink<'_>) {
    let log = written.log.as_ref().and_then(|log| log.access.as_ref());
    if let Some(access) = log
        && let AccessTarget::File(path) = &access.value
    {
        file(&absolute(path), &access.span, sink);
    }
    let disk = written.disk.as_ref();
    let purge = written.purge.as_ref();
    let folders = [
        disk.and_then(|disk| disk.value.path.as_ref()),
        purge.and_then(|purge| purge.log.as_ref()),
    ];
    for At { value, span } in folders.into_iter().flatten() {
        // An empty path is reported elsewhere.
        if !value.as_os_str().is_empty() {
            folder(&absolute(value), span, sink);
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn file(path: &Path, span: &Range<usize>, sink: &mut Sink<'_>) {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            let within = path.join("access.log");
            sink.push(
                Fault::at(span, format!("{shown} is a folder"))
                    .instead(format!("write `access = {:?}`", within.to_string_lossy())),
            );
        }
        Ok(_) => may(path, Access::WRITE_OK, span, sink),
        Err(error) => parent(path, span, &error, sink),
    }
}

fn folder(path: &Path, span: &Range<usize>, sink: &mut Sink<'_>) {
    match fs::metadata(path) {
        Ok(there) if !there.is_dir() => sink.push(
            Fault::at(span, format!("{} is not a folder", path.display()))
                .instead("move it away, or choose another path"),
        ),
        Ok(_) => may(path, USE | Access::READ_OK, span, sink),
        Err(error) => parent(path, span, &error, sink),
    }
}

/// Permissions that are needed to create something in a folder.
const USE: Access = Access::WRITE_OK.union(Access::EXEC_OK);

/// Checks the folder of a missing file or folder, which Larder creates if that folder exists.
fn parent(path: &Path, span: &Range<usize>, error: &io::Error, sink: &mut Sink<'_>) {
    let parent = path.parent().unwrap_or_else(|| Path::new("/"));
    let what = match error.kind() {
        // The target of the link may have a place.
        io::ErrorKind::NotFound if path.is_symlink() => return,
        io::ErrorKind::NotFound if parent.is_dir() => return may(parent, USE, span, sink),
        io::ErrorKind::NotFound => format!("there is no folder {}", parent.display()),
        io::ErrorKind::PermissionDenied => return sink.push(barred(path, error, span)),
        _ => format!("{}: {error}", path.display()),
    };
    sink.push(Fault::at(span, what).instead("create it, or choose another path"));
}

/// Reports the permissions that this user lacks there.
fn may(path: &Path, wanted: Access, span: &Range<usize>, sink: &mut Sink<'_>) {
    if let Err(error) = access(path, wanted) {
        sink.push(barred(path, &error.into(), span));
    }
}

fn barred(path: &Path, error: &io::Error, span: &Range<usize>) -> Fault {
    Fault::at(span, format!("cannot write to {}: {error}", path.display()))
        .instead("let the user that runs Larder write there, and run `larder check` as that user")
}
