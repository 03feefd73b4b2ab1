//! Disks in trouble: one that is soon full, one that fails or stands still.

use crate::scratch_dir;
use std::{
    ffi::OsStr,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

/// A small file system in memory, for as long as this lives.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// One of this size, as `mount` has it (`4m`). There is no other full device that behaves like one: without the
    /// right to mount, the test fails and says so.
    pub fn new(size: &str) -> Self {
        let path = scratch_dir();
        let options = format!("size={size}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&path)
            .output();
        let mount = mount.expect("mount, of the package of that name");
        assert!(
            mount.status.success(),
            "this test fills a small file system, and may not mount one; run it as root, or under `unshare --map-root-user --mount`: {}",
            String::from_utf8_lossy(&mount.stderr).trim()
        );
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a program that a failed test leaves behind may still have it open.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A file system on a device of its own that fails when it is told to, as devices do; for as long as this lives.
#[derive(Debug)]
pub struct FailingDisk {
    image: PathBuf,
    path: PathBuf,
}

impl FailingDisk {
    /// One with room for some 25 MB. Needs the right to mount a loop device, which nobody but root has.
    pub fn new() -> Self {
        let (image, path) = (scratch_dir().join("image"), scratch_dir());
        let file = File::create(&image).expect("an image");
        file.set_len(32 << 20).expect("an image of that size");
        run("mkfs.ext4", [OsStr::new("-qF"), image.as_os_str()]);
        let disk = Self { image, path };
        disk.mount();
        disk
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Nothing is written any more, as when a file system has found its device to be at fault. What is there can be read.
    pub fn turn_read_only(&self) {
        let options = ["-o", "remount,abort"].map(OsStr::new);
        run("mount", options.into_iter().chain([self.path.as_os_str()]));
    }

    /// Every read and every write is an I/O error from now on.
    pub fn fail(&self) {
        // The standard library has no `ioctl`. This is `FS_IOC_SHUTDOWN`, without writing what is still in memory.
        const SHUT_DOWN: &str = "import fcntl, os, struct, sys\n\
            fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";
        let script = ["-c", SHUT_DOWN].map(OsStr::new);
        run("python3", script.into_iter().chain([self.path.as_os_str()]));
    }

    /// Whoever writes waits, as for a device that hangs, until what this returns is dropped. What was written can be
    /// read.
    #[must_use = "the device works again once this is dropped"]
    pub fn stand_still(&self) -> StandingStill<'_> {
        run("fsfreeze", [OsStr::new("-f"), self.path.as_os_str()]);
        StandingStill(&self.path)
    }

    /// The device is looked after, and what reached it is there again. Nobody may have a file open.
    pub fn mend(&self) {
        run("umount", [&self.path]);
        self.mount();
    }

    fn mount(&self) {
        let options = ["-o", "loop"].map(OsStr::new);
        let what = [self.image.as_os_str(), self.path.as_os_str()];
        run("mount", options.into_iter().chain(what));
    }
}

impl Default for FailingDisk {
    fn default() -> Self {
        Self::new()
    }
}

/// A device stands still as long as this lives.
#[derive(Debug)]
pub struct StandingStill<'a>(&'a Path);

impl Drop for StandingStill<'_> {
    fn drop(&mut self) {
        // A test that fails leaves nobody behind who waits for ever.
        run("fsfreeze", [OsStr::new("-u"), self.0.as_os_str()]);
    }
}

impl Drop for FailingDisk {
    fn drop(&mut self) {
        // Lazily, as above.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// Runs a command of the system's administrator, which must succeed.
fn run(name: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) {
    let done = Command::new(name)
        .args(args)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output();
    let done = done.unwrap_or_else(|error| panic!("{name} (is its package installed?): {error}"));
    assert!(
        done.status.success(),
        "this test makes a device fail; run it as root: {name}: {}",
        String::from_utf8_lossy(&done.stderr).trim()
    );
}
