//! A disk that is soon full.

use crate::scratch_dir;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A small file system in memory, for as long as this lives.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// One of this size, as `mount` has it (`4m`). There is no other full device that behaves like one: without the right to
    /// mount, the test fails and says so.
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
