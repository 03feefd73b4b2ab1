//! The log of purges on disk, so that a purge holds over a restart and a power loss.
//!
//! One file to which frames are appended ([`mod@format`]). A thread writes everything that has come since its last
//! write with one write and one `fsync`, and then answers the waiting tasks: many purges at once cost few `fsync`s.
//! When most of the file is of no use any more, because purges were retired or said the same, a new file is written
//! beside it and replaces it.
//!
//! Numbers are never given out twice, although a crash may lose purges that were not acknowledged. What was stored
//! after such a purge has its number, and must not seem to have been checked for a later one. So each start begins far
//! above all known numbers, at the time of day in microseconds. If the file is new, lost or damaged, what was stored
//! before counts as purged.

pub mod format;
mod medium;
mod needed;
mod queue;
mod remembered;
#[cfg(test)]
mod tests;
mod writing;

pub use remembered::Remembered;

use super::{Entry, Journal};
use crate::{Boxed, Durable, NotDurable};
use format::{Contents, Item, Tail, Unreadable, frame};
use medium::{Medium, OneFile};
pub use queue::Event;
use queue::JournalQueue;
use remembered::Sum;
use rules::time::Time;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};
use writing::{Health, Live, Writing};

/// When a purge counts as being on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lasting {
    /// After `fsync`: it survives a power loss.
    #[default]
    Synced,
    /// Once the operating system has it: it survives the end of the process.
    Written,
}

/// Why the log cannot be kept in this file; the operator must fix it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("{0}: another process uses this log of purges")]
    InUse(PathBuf),
    /// A newer version of the program wrote it.
    #[error("{0}: this log of purges was written by a newer version (format {1})")]
    Newer(PathBuf, u32),
    /// It is some other file.
    #[error("{0}: not a log of purges")]
    Foreign(PathBuf),
    /// The operating system reported an error.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// The state in which a log was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// There was no log: everything that is stored counts as purged.
    New,
    /// As it was left.
    Whole,
    /// As it was left, except for this many bytes at its end, which were cut off: what a crash leaves of purges that
    /// were not acknowledged. A file that somebody truncated looks the same.
    Torn(u64),
    /// Damaged: everything that is stored counts as purged.
    Damaged,
}

/// The log of purges on disk. A clone is another handle to the same log; when the last one is dropped, the rest is
/// written.
#[derive(Clone, Debug)]
pub struct FileJournal {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    queue: Arc<JournalQueue>,
    thread: Option<JoinHandle<()>>,
}

impl FileJournal {
    /// Opens the log in the file at `path`, or creates it. `at` is the current time. What the log remembers is for
    /// [`Log::restore`](super::Log::restore), before [`Log::keep_in`](super::Log::keep_in).
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(
        path: &Path,
        lasting: Lasting,
        at: Time,
    ) -> Result<(Self, Remembered, Opened), OpenError> {
        let mut file = OneFile::open(path)?;
        let io = |error| OpenError::Io(path.to_owned(), error);
        let bytes = file.read().map_err(io)?;
        let contents = Contents::read(&bytes).map_err(|why| match why {
            Unreadable::Newer(version) => OpenError::Newer(path.to_owned(), version),
            Unreadable::Foreign => OpenError::Foreign(path.to_owned()),
        })?;
        let found = (contents.as_ref(), bytes.len() as u64);
        let begun = begin(Box::new(file), found, lasting, at).map_err(io)?;
        let Begun {
            writing,
            remembered,
            opened,
        } = begun;
        let queue = writing.queue.clone();
        let thread = thread::Builder::new().name("purge-log".to_owned());
        let thread = thread.spawn(move || writing.run()).map_err(io)?;
        let handle = Arc::new(Handle {
            queue,
            thread: Some(thread),
        });
        Ok((Self { handle }, remembered, opened))
    }

    /// Sends events to `hook` from now on, on the thread that writes: it must not wait. Only the first call has an
    /// effect.
    pub fn tell(&self, hook: Box<dyn Fn(&Event) + Send + Sync>) {
        self.handle.queue.tell(hook);
    }

    /// Waits until what was appended before is on disk, or cannot be written. For a graceful stop.
    pub fn flush(&self) {
        let Some(answered) = self.handle.queue.wait_for(u64::MAX) else {
            return;
        };
        // On a thread of its own, because a runtime's own threads must not block.
        let thread = thread::Builder::new().name("purge-log-flush".to_owned());
        let waits = thread.spawn(move || answered.blocking_recv());
        if let Ok(thread) = waits {
            // The log has reported any error.
            let _ = thread.join();
        }
    }
}

struct Begun {
    writing: Writing,
    remembered: Remembered,
    opened: Opened,
}

/// Writes that the log begins here, so that the file ends well. It was found with these contents and this length.
fn begin(
    mut medium: Box<dyn Medium>,
    (contents, length): (Option<&Contents<'_>>, u64),
    lasting: Lasting,
    at: Time,
) -> io::Result<Begun> {
    let mut sum = contents.map_or_else(|| Sum::unknown(0), Sum::of);
    let (remembered, damaged) = sum.go_on(at);
    let end = match contents {
        Some(contents) if !damaged => {
            let mut content = Vec::new();
            Item::Began(sum.base).write(&mut content);
            let frame = frame(&content);
            if contents.tail != Tail::Clean {
                medium.cut(contents.end as u64)?;
            }
            medium.append(&frame)?;
            medium.sync()?;
            contents.end + frame.len()
        }
        _ => {
            let bytes = sum.rewritten();
            medium.replace(&bytes)?;
            medium.settle()?;
            bytes.len()
        }
    };
    let opened = match contents {
        None => Opened::New,
        Some(_) if damaged => Opened::Damaged,
        Some(contents) if contents.tail == Tail::Torn => Opened::Torn(length - contents.end as u64),
        Some(_) => Opened::Whole,
    };
    let writing = Writing {
        queue: Arc::new(JournalQueue::new(remembered.head)),
        medium,
        lasting,
        health: Health::Good,
        end: end as u64,
        live: Live::of(&sum),
        last: remembered.head,
        rewrite_at: 0,
    };
    Ok(Begun {
        writing,
        remembered,
        opened,
    })
}

impl Journal for FileJournal {
    fn append(&self, entry: &Entry) {
        self.handle.queue.append(entry);
    }

    fn retire(&self, sequence: u64) {
        self.handle.queue.retire(sequence);
    }
}

impl Durable for FileJournal {
    fn durable(&self, sequence: u64) -> Boxed<Result<(), NotDurable>> {
        let answered = self.handle.queue.wait_for(sequence);
        Box::pin(async move {
            match answered {
                None => Ok(()),
                Some(answered) => match answered.await {
                    Ok(answer) => answer,
                    Err(_) => Err(NotDurable("the log is closed".to_owned())),
                },
            }
        })
    }

    fn is_failing(&self) -> bool {
        self.handle.queue.is_failing()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic, and there is nobody to tell.
            let _ = thread.join();
        }
    }
}
