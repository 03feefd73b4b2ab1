//! How the disk tier is set up, and why it may not be.

use std::path::PathBuf;

/// How the disk tier is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory; made where it is missing, as long as its parent is there.
    pub path: PathBuf,
    /// Bytes that all files together may take: a hard limit.
    pub size: u64,
    /// Bytes that may be written a second, so that a scan does not wear the device out; `None`: no limit, but for 64 MiB of what
    /// memory evicts.
    pub write_rate: Option<u64>,
    /// The directory of the log of purges that this is held against, where that is another one. What was stored beside another log is
    /// forgotten: nobody noted here what was purged since.
    pub log: Option<PathBuf>,
}

/// Why the tier cannot be used; for the operator to mend. The cache goes on without it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the directory.
    #[error("{0}: another process uses this directory")]
    InUse(PathBuf),
    /// A newer version of the program wrote it.
    #[error("{0}: written by a newer version (format {1})")]
    Newer(PathBuf, u32),
    /// The operating system says no.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
}
