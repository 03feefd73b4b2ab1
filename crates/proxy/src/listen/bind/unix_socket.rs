//! Unix sockets and their names in a folder.

use super::{BindError, ListenConfig};
use socket2::{Domain, SockAddr, Socket, Type};
use std::{
    fs, io,
    os::unix::{
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

/// The name of a socket that we have opened.
///
/// It is removed with the last handle, while the socket still listens. So a process that comes after us finds either
/// our live socket or nothing, and a file that it puts there is never taken for ours.
#[derive(Debug)]
pub(in crate::listen) struct SocketName {
    path: PathBuf,
    /// Device and inode; `None` if another process was quicker.
    file: Option<(u64, u64)>,
}

impl SocketName {
    fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: identity(path),
        }
    }
}

impl Drop for SocketName {
    fn drop(&mut self) {
        // Another process may have removed it before us, and made another.
        if self.file.is_some() && identity(&self.path) == self.file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Opens a socket at `path`. The socket has its name for as long as the caller holds it.
pub(super) fn open(
    path: &Path,
    config: &ListenConfig,
) -> Result<(SocketName, UnixListener), BindError> {
    let place = path.display().to_string();
    let fail = |error| BindError::new(&place, error);
    clear_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(fail)?;
    let address = SockAddr::unix(path).map_err(fail)?;
    socket.bind(&address).map_err(fail)?;
    let name = SocketName::of(path);
    if let Some(mode) = config.unix_mode {
        // Before `listen`, so that no client can connect while the bits are those of the mask.
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(fail)?;
    }
    let backlog = i32::try_from(config.backlog).unwrap_or(i32::MAX);
    socket.listen(backlog).map_err(fail)?;
    Ok((name, socket.into()))
}

/// Removes a socket file on which nothing answers. Any other file is left alone and is an error.
fn clear_stale(path: &Path) -> Result<(), BindError> {
    let place = || path.display().to_string();
    let Ok(kind) = fs::symlink_metadata(path).map(|meta| meta.file_type()) else {
        return Ok(());
    };
    if !kind.is_socket() {
        return Err(BindError::NotASocket(place()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| BindError::new(&place(), error))
        }
        Ok(_) => Err(BindError::InUse(place())),
        Err(error) => Err(BindError::new(&place(), error)),
    }
}
