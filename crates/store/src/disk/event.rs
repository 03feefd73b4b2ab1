//! What happens to the tier and the operator should know.

use super::health::REST;
use std::{fmt, path::PathBuf, time::Duration};

/// What the tier was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Reading a stored response.
    Reading,
    /// Writing a stored response, or making room for it.
    Writing,
}

/// An event that the operator should know. Its text is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The index is complete.
    Loaded {
        /// Stored responses found.
        records: u64,
        /// Time since the tier was opened.
        took: Duration,
    },
    /// The device failed. The tier is left alone for a while; the cache goes on without it.
    Failed {
        /// The direction that failed.
        doing: Doing,
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        error: String,
    },
    /// The device works again.
    Mended(Doing),
    /// One file could not be read at some place, and others can be. Such events are reported once in a while.
    Unread {
        /// The file that was read last.
        file: PathBuf,
        /// The error of the operating system.
        error: String,
    },
    /// The stored responses were checked against a different log of purges, and it is not known what was purged since.
    /// They are forgotten.
    Outdated,
    /// A segment cannot be read at the start, or it is damaged and nobody knows what else it had. It and the older ones
    /// are given up, since it may say that what they have was replaced.
    Unreadable {
        /// The segment.
        file: PathBuf,
        /// The error of the operating system.
        error: String,
        /// The number of older segments.
        older: usize,
    },
    /// Bytes are not those that were written. They were not given out, and are forgotten.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the record or chunk begins.
        offset: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = |doing: &Doing| match doing {
            Doing::Reading => "reading",
            Doing::Writing => "writing",
        };
        match self {
            Self::Loaded { records, took } => {
                write!(
                    f,
                    "disk tier loaded: {records} stored responses in {took:.1?}"
                )
            }
            Self::Failed {
                doing: what,
                file,
                error,
            } => write!(
                f,
                "disk tier not used for {REST:?}: {} {}: {error}",
                doing(what),
                file.display()
            ),
            Self::Outdated => f.write_str(
                "disk tier: the log of purges is not the one of the last run, and may lack purges: everything stored is dropped",
            ),
            Self::Unreadable { file, error, older } => write!(
                f,
                "disk tier: {} cannot be read: {error}; dropped, and with it {older} older segments, which it may have replaced",
                file.display()
            ),
            Self::Unread { file, error } => write!(
                f,
                "disk tier: {} could not be read: {error}; fetched instead. For an hour, single failures are only counted",
                file.display()
            ),
            Self::Mended(what) => write!(f, "disk tier used again: {}", doing(what)),
            Self::Damaged { file, offset } => write!(
                f,
                "disk tier: damaged bytes dropped: {} at {offset}",
                file.display()
            ),
        }
    }
}
