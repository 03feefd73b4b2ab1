//! What is known about a file besides its bytes, and the validators made from that.

use http::HeaderValue;
use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use xxhash_rust::xxh3::xxh3_64;

/// A file that changed more recently may change again without a change of its times. File systems count in steps; the
/// coarsest is two seconds (FAT).
const STEP: Duration = Duration::from_secs(2);

/// The state of a file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Length in bytes.
    pub(crate) length: u64,
    /// Last change of its content, in seconds and nanoseconds since 1970. The file's owner may set it.
    modified: (i64, i64),
    /// Last change of anything, by the kernel's own clock.
    changed: (i64, i64),
    inode: u64,
    /// What else may have changed at the time of the last change.
    about: About,
}

/// What a file has besides its content and is not named by, and of which a change explains a new time of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct About {
    mode: u32,
    owner: (u32, u32),
    /// How many names it has: one less when it is deleted or when another takes its name.
    names: u64,
}

impl Facts {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            about: About {
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                names: metadata.nlink(),
            },
        }
    }

    /// Whether the file is unchanged, except that it lost or got a name, another owner or other permissions.
    ///
    /// The time of modification alone does not tell: a program that writes other content may set it back. Then only the
    /// time of change is new, and nothing explains it. A new name instead of the old one is not told from that.
    pub(crate) fn has_content_of(&self, earlier: &Self) -> bool {
        self.length == earlier.length
            && self.modified == earlier.modified
            && self.inode == earlier.inode
            && (self.changed == earlier.changed || self.about != earlier.about)
    }

    /// Whether its content was changed before that of `other`, to the second: not every program that copies times
    /// copies more than that.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        self.modified.0 < other.modified.0
    }

    /// Returns a strong tag (RFC 9110 section 8.8.3). `None`: the file is so young that two contents could have the
    /// same tag.
    ///
    /// nginx and Apache use length and time of modification. Both may be the same for two contents: tools for
    /// repeatable builds set all times to the same value. The time of change cannot be set.
    pub(crate) fn etag(&self, now: SystemTime) -> Option<HeaderValue> {
        if self.is_young(now) {
            return None;
        }
        let mut all = [0; 48];
        let numbers = [
            self.length,
            self.modified.0.cast_unsigned(),
            self.modified.1.cast_unsigned(),
            self.changed.0.cast_unsigned(),
            self.changed.1.cast_unsigned(),
            self.inode,
        ];
        for (place, number) in all.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let tag = format!("\"{:x}-{:016x}\"", self.length, xxh3_64(&all));
        HeaderValue::try_from(tag).ok()
    }

    /// Returns `Last-Modified`. `None`: the file is young, or the time is in the future (RFC 9110 section 8.8.2.1).
    pub(crate) fn last_modified(&self, now: SystemTime) -> Option<HeaderValue> {
        let seconds = u64::try_from(self.modified.0).ok()?;
        let modified = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
        if self.is_young(now) || modified > now {
            return None;
        }
        let modified = rules::time::Time::from_millis(seconds.checked_mul(1000)?);
        HeaderValue::try_from(modified.to_http()).ok()
    }

    fn is_young(&self, now: SystemTime) -> bool {
        let seconds = u64::try_from(self.changed.0).unwrap_or(0);
        let nanoseconds = u32::try_from(self.changed.1).unwrap_or(0);
        let changed = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        age.is_none_or(|age| age < STEP)
    }
}
