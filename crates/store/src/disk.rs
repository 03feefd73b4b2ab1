//! The disk tier: bigger than memory, survives a restart.

use crate::{Stored, purge::Log};
use bytes::Bytes;
use rules::range::Span;
use std::{
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
};

/// How the disk tier is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory; made where it is missing, as long as its parent is there.
    pub path: PathBuf,
    /// Bytes that all files together may take: a hard limit.
    pub size: u64,
    /// Bytes that may be written a second, so that a scan does not wear the device out; `None`: no limit.
    pub write_rate: Option<u64>,
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

/// The disk tier. Shared by all workers.
#[derive(Debug)]
pub struct Disk {}

/// What the tier has under a key.
pub enum Found {
    /// Nothing.
    Nothing,
    /// These, read without waiting.
    Here(Vec<Arc<Stored>>),
    /// The device must be waited for.
    Wait(Finding),
}

/// A read that waits for the device; done on a thread of the tier.
pub struct Finding {}

impl Future for Finding {
    /// Empty where nothing is there after all.
    type Output = Vec<Arc<Stored>>;

    fn poll(self: std::pin::Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Pending
    }
}

impl Disk {
    /// Takes the directory. Returns at once: the index is read by a thread of the tier, and used while it is.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(config: Config, log: Arc<Log>) -> Result<Arc<Self>, OpenError> {
        let _ = log;
        Err(OpenError::InUse(config.path))
    }

    /// What is kept under `key`; never waits. Small bodies come with it, large ones as [`OnDisk`].
    pub fn find(&self, key: &[u8]) -> Found {
        let _ = (self, key);
        Found::Nothing
    }

    /// Whether anything is kept under `key`, as far as the index knows (a hash may collide).
    pub fn knows(&self, key: &[u8]) -> bool {
        let _ = (self, key);
        false
    }

    /// Queues `stored` to be written. False where it is not taken: queue full, write rate used up, tier out of order.
    pub fn offer(&self, key: &[u8], stored: &Arc<Stored>) -> bool {
        let _ = (self, key, stored);
        false
    }

    /// Begins a body too large for memory, of `length` bytes if that is known. `None` where the tier does not take it.
    pub fn begin(&self, length: Option<u64>) -> Option<Writer> {
        let _ = (self, length);
        None
    }

    /// The smallest number of the log that anything kept was checked up to: purges after it must be remembered. `None`: nothing
    /// is kept.
    pub fn oldest_checked(&self) -> Option<u64> {
        None
    }
}

/// Writes a large body as it comes. Dropped before [`finish`](Self::finish), its file goes.
#[derive(Debug)]
pub struct Writer {}

impl Writer {
    /// Queues a piece; ready when it may be pushed. Errors end the file.
    pub fn poll_push(
        &mut self,
        piece: &Bytes,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failed>> {
        let _ = (self, piece, context);
        Poll::Ready(Err(Failed))
    }

    /// What has been written so far and can be read back (whole chunks).
    pub fn written(&self) -> OnDisk {
        OnDisk {}
    }

    /// The body is complete: what it is from now on.
    pub fn finish(self) -> Result<OnDisk, Failed> {
        Err(Failed)
    }
}

/// The device failed, or the bytes are not what was written. The tier has counted and logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body cannot be read from disk")]
pub struct Failed;

/// Bytes on disk: a body, or a span of one. Cheap to clone; keeps its file open.
#[derive(Clone, Debug)]
pub struct OnDisk {}

impl OnDisk {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        0
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part in `span`, relative to these bytes.
    #[must_use]
    pub fn slice(&self, span: Span) -> Option<Self> {
        let _ = span;
        None
    }

    /// Reads from the first byte on.
    pub fn reader(&self) -> Reader {
        Reader {}
    }
}

/// Reads bytes from disk, chunk by chunk, each verified before any of it is given out.
#[derive(Debug)]
pub struct Reader {}

impl Reader {
    /// The next piece; `None` at the end. What lies in the page cache is read at once, anything else by a thread of the tier.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        let _ = (self, context);
        Poll::Ready(None)
    }
}
