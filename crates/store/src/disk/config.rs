//! The settings of the disk tier, and the reasons why it cannot be opened.

use std::path::PathBuf;

/// The settings of the disk tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory. It is made if it is missing, as long as its parent exists.
    pub path: PathBuf,
    /// Bytes that all files may take together: a hard limit.
    pub size: u64,
    /// Bytes that may be written a second, so that a scan does not wear out the device. `None`: no limit, except 64 MiB
    /// a second for what memory evicts.
    pub write_rate: Option<u64>,
    /// The directory of the log of purges, if it is a different one. What was stored beside another log is forgotten,
    /// because nobody noted here what was purged since.
    pub log: Option<PathBuf>,
}

/// Why the tier cannot be used. The operator must fix it; the cache goes on without the tier.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the directory.
    #[error("{0}: another process uses this directory")]
    InUse(PathBuf),
    /// A newer version of the program wrote the directory.
    #[error("{0}: written by a newer version (format {1})")]
    Newer(PathBuf, u32),
    /// Nothing in the directory is a disk tier's. Only who looks at one from outside is told so.
    #[error("{0}: not a disk tier of Larder")]
    Foreign(PathBuf),
    /// The system does not let this process open as many files as segments are kept open.
    #[error(
        "{}: with its segments open, this process needs {needed} file descriptors, and the system lets it have {limit}: raise the limit \
         (`ulimit -n`, systemd's `LimitNOFILE`)",
        path.display()
    )]
    FewDescriptors {
        /// The directory.
        path: PathBuf,
        /// How many are enough.
        needed: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The operating system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
}
