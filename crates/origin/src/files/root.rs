//! Opens what lies in the folder, and nothing else. The kernel itself refuses to leave it (`openat2`,
//! `RESOLVE_BENEATH`), so that no link that is put there meanwhile leads out.

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// How often a lookup is tried that meets a rename.
const TRIES: usize = 8;

/// The path of the folder.
#[derive(Debug)]
pub(crate) struct Root(PathBuf);

/// The folder as it is now.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// What lies at a path.
#[derive(Debug)]
pub(crate) enum Lies {
    /// A file, open for reading.
    File(File, Metadata),
    /// A folder.
    Folder,
    /// A pipe, a device, a socket.
    Special,
    /// Nothing.
    Nothing,
    /// A symbolic link that leads out of the folder.
    Outside,
    /// Something that we have no permission to read.
    Forbidden,
}

impl Root {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the folder exists, and the kernel can keep us in it.
    pub(crate) fn probe(&self) -> io::Result<()> {
        let folder = self.open()?;
        match folder.open_file(Path::new(".")) {
            Ok(_) => Ok(()),
            Err(Errno::NOSYS | Errno::PERM) => Err(io::Error::other(
                "openat2 is not to be had; it is in Linux since 5.6, and a sandbox must let it through",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the folder anew: it may be a link that was changed to the next release.
    pub(crate) fn open(&self) -> io::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(openat(CWD, &self.0, flags, Mode::empty())?))
    }
}

impl Folder {
    /// Looks up a relative `path`. Links are followed as long as they stay inside. Fails if the device or the system
    /// fails.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Lies> {
        let opened = match self.open_file(path) {
            Ok(opened) => opened,
            Err(errno) => {
                return match errno {
                    errno if names_nothing(errno) => Ok(Lies::Nothing),
                    Errno::XDEV | Errno::LOOP => Ok(Lies::Outside),
                    Errno::ACCESS | Errno::PERM => Ok(Lies::Forbidden),
                    // A socket, or a device without a driver.
                    Errno::NXIO | Errno::NODEV => Ok(Lies::Special),
                    other => Err(other.into()),
                };
            }
        };
        let file = File::from(opened);
        let metadata = file.metadata()?;
        Ok(if metadata.is_file() {
            Lies::File(file, metadata)
        } else if metadata.is_dir() {
            Lies::Folder
        } else {
            Lies::Special
        })
    }

    fn open_file(&self, path: &Path) -> Result<OwnedFd, Errno> {
        // Without `NONBLOCK`, opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match openat2(&self.0, path, flags, Mode::empty(), inside) {
                Err(Errno::AGAIN | Errno::INTR) if tries > 0 => {}
                opened => return opened,
            }
        }
    }
}

/// Whether a lookup fails with this because nothing has that name, or nothing can have it.
pub(crate) const fn names_nothing(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL
    )
}
