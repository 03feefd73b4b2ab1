//! The access log: records queue up, a thread of its own makes lines of them and writes them in batches.
//!
//! A worker hands a record over without waiting; when the queue is full, or the file takes no more, the record is lost and counted
//! (`proxy::outcome::Counters::log_lost`). What a line looks like is `line`'s, when bytes go out is `writer`'s.

mod batch;
mod line;
mod stamp;
mod target;
mod writer;

#[cfg(test)]
mod tests;

use crate::config::meant::Log;
use proxy::outcome::{Counters, Record};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};
use target::Target;
use writer::Writer;

/// Why there is no access log. The operator's to mend.
#[derive(Debug, thiserror::Error)]
pub enum CannotStart {
    /// The file cannot be opened for appending.
    #[error("cannot write the access log: {0}")]
    Unwritable(io::Error),
    /// The system has no thread to give for its writer.
    #[error("cannot start a thread: {0}")]
    NoThread(io::Error),
}

/// Records that wait at most. The queue's room is taken once, at the start: about 2 MiB.
const QUEUE: usize = 8192;

/// How long the end of what is queued is waited for: whoever reads a pipe may have stopped doing so.
const PATIENCE: Duration = Duration::from_secs(2);

/// The same where haste is wanted: enough for a writer that nobody holds up.
const LITTLE_PATIENCE: Duration = Duration::from_millis(200);

/// How often somebody who waits looks whether haste is wanted.
const LOOK: Duration = Duration::from_millis(20);

/// A running access log. Dropping it writes what is queued and waits for that, but not for ever.
#[derive(Debug)]
pub struct AccessLog {
    /// Dropped before `thread`: the order of these fields matters.
    queue: SyncSender<Record>,
    thread: Awaited,
    /// The writer's.
    counters: Arc<Counters>,
}

/// The writer's thread; waited for when dropped.
#[derive(Debug)]
struct Awaited {
    wishes: Arc<Wishes>,
    /// Ends with the thread.
    ended: Receiver<()>,
}

/// What the writer is asked to do besides writing; it looks at least every `writer::TICK`.
#[derive(Debug, Default)]
struct Wishes {
    reopen: AtomicBool,
    stop: AtomicBool,
    /// Of whoever waits for it to stop.
    haste: AtomicBool,
}

/// Has whoever waits for an access log to be written wait no longer than it takes.
#[derive(Debug)]
pub struct Haste(Arc<Wishes>);

impl Haste {
    /// From now on.
    pub fn make(&self) {
        self.0.haste.store(true, Relaxed);
    }
}

impl AccessLog {
    /// Opens the log that `log` asks for and starts its writer; `None` where it asks for none.
    ///
    /// # Errors
    /// See [`CannotStart`].
    pub fn start(log: &Log) -> Result<Option<Self>, CannotStart> {
        let Some(target) = Target::of(&log.access) else {
            return Ok(None);
        };
        let (queue, records) = sync_channel(QUEUE);
        let wishes = Arc::new(Wishes::default());
        let counters = Arc::<Counters>::default();
        let writer = Writer::new(target, log.format, wishes.clone(), counters.clone());
        let mut writer = writer.map_err(CannotStart::Unwritable)?;
        let (end, ended) = sync_channel(0);
        thread::Builder::new()
            .name("larder-log".to_owned())
            .spawn(move || {
                // Whoever waits for the end finds the queue closed: both go with it, the queue first.
                let _end: SyncSender<()> = end;
                writer.run(records);
            })
            .map_err(CannotStart::NoThread)?;
        Ok(Some(Self {
            queue,
            thread: Awaited { wishes, ended },
            counters,
        }))
    }

    /// A way into the queue, for one worker.
    pub fn sender(&self) -> SyncSender<Record> {
        self.queue.clone()
    }

    /// What the writer counts.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// Asks for the file to be opened again by its name, after something has moved it away. Takes effect within a fraction of
    /// a second; means nothing for standard output.
    pub fn reopen(&self) {
        self.thread.wishes.reopen.store(true, Relaxed);
    }

    /// For when its end is being waited for.
    pub fn haste(&self) -> Haste {
        Haste(self.thread.wishes.clone())
    }

    /// Writes what is queued and ends the writer. Workers that still hold a sender lose what they send from now on.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // Where no worker holds a sender any more the writer has noticed already; the wish covers those that still do.
        self.wishes.stop.store(true, Relaxed);
        let asked = Instant::now();
        while self.ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let patience = if self.wishes.haste.load(Relaxed) {
                LITTLE_PATIENCE
            } else {
                PATIENCE
            };
            if asked.elapsed() >= patience {
                // It may be in the middle of a write that nobody can call it back from; it ends with the process.
                tracing::warn!("nobody takes the end of the access log: it is lost");
                return;
            }
        }
    }
}
