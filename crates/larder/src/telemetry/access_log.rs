//! The access log: records queue up, a thread of its own makes lines of them and writes them in batches.
//!
//! A worker hands a record over without waiting; when the queue is full the record is lost and counted
//! (`proxy::outcome::Counters::log_lost`). What a line looks like is `line`'s, when bytes go out is `writer`'s.

mod line;
mod stamp;
mod target;
mod writer;

#[cfg(test)]
mod tests;

use crate::config::meant::Log;
use proxy::outcome::Record;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};
use target::Target;
use writer::Writer;

/// Records that wait at most. The queue's room is taken once, at the start: about 2 MiB.
const QUEUE: usize = 8192;

/// A running access log. Dropping it writes what is queued and waits for that.
#[derive(Debug)]
pub struct AccessLog {
    /// Dropped before `thread`: the order of these fields matters.
    queue: SyncSender<Record>,
    thread: Joined,
}

/// The writer's thread; joined when dropped.
#[derive(Debug)]
struct Joined {
    wishes: Arc<Wishes>,
    thread: Option<JoinHandle<()>>,
}

/// What the writer is asked to do besides writing; it looks at least every `writer::TICK`.
#[derive(Debug, Default)]
struct Wishes {
    reopen: AtomicBool,
    stop: AtomicBool,
}

impl AccessLog {
    /// Opens the log that `log` asks for and starts its writer; `None` where it asks for none.
    ///
    /// # Errors
    /// The file cannot be opened for appending, or no thread can be started: the operator's to mend.
    pub fn start(log: &Log) -> io::Result<Option<Self>> {
        let Some(target) = Target::of(&log.access) else {
            return Ok(None);
        };
        let (queue, records) = sync_channel(QUEUE);
        let wishes = Arc::new(Wishes::default());
        let mut writer = Writer::new(target, log.format, wishes.clone())?;
        let thread = thread::Builder::new()
            .name("larder-log".to_owned())
            .spawn(move || writer.run(&records))?;
        Ok(Some(Self {
            queue,
            thread: Joined {
                wishes,
                thread: Some(thread),
            },
        }))
    }

    /// A way into the queue, for one worker.
    pub fn sender(&self) -> SyncSender<Record> {
        self.queue.clone()
    }

    /// Asks for the file to be opened again by its name, after something has moved it away. Takes effect within a fraction of
    /// a second; means nothing for standard output.
    pub fn reopen(&self) {
        self.thread.wishes.reopen.store(true, Relaxed);
    }

    /// Writes what is queued and ends the writer. Workers that still hold a sender lose what they send from now on.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        // Where no worker holds a sender any more the writer has noticed already; the wish covers those that still do.
        self.wishes.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has said so itself.
            let _ = thread.join();
        }
    }
}
