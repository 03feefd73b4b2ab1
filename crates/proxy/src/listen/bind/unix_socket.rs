//! Unix sockets and the names that they have in a folder.

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

/// The name of a socket that we have opened. It is removed with the last handle, while the socket still listens: so a process that
/// comes after us finds ours alive or nothing at all, and what it puts there is never taken for ours.
#[derive(Debug)]
pub(in crate::listen) struct SocketName {
    path: PathBuf,
    /// Device and inode; `None`: somebody was quicker.
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
        // Somebody may have removed it before us, and made another.
        if self.file.is_some() && identity(&self.path) == self.file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// Opens a socket at `path`, with the name to hold for as long as it is to have one.
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
        // Before `listen`: nobody can connect while the bits are still the mask's.
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(fail)?;
    }
    let backlog = i32::try_from(config.backlog).unwrap_or(i32::MAX);
    socket.listen(backlog).map_err(fail)?;
    Ok((name, socket.into()))
}

/// Removes a socket file that nobody answers on; leaves anything else alone and says so.
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
