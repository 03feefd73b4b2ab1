//! The access log. Records are queued; a separate thread formats and writes them in batches.
//!
//! A worker hands a record over without waiting. If the queue is full, or the file cannot take more, the record is lost
//! and counted (`proxy::outcome::Counters::log_lost`). `line` formats a record, and `writer` decides when bytes are
//! written.

mod batch;
mod line;
mod stamp;
mod target;
mod writer;

#[cfg(test)]
mod tests;

use crate::config::meant::Log;
use proxy::outcome::{Counters, LogSender, log_queue};
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

/// Why the access log could not be started. The operator has to correct this.
#[derive(Debug, thiserror::Error)]
pub enum CannotStart {
    /// The file cannot be opened for appending.
    #[error("cannot write the access log: {0}")]
    Unwritable(io::Error),
    /// The system could not create the writer's thread.
    #[error("cannot start a thread: {0}")]
    NoThread(io::Error),
}

/// Largest number of queued records. Their places are allocated once, at the start: less than 2 MiB. Short texts take up
/// to 4 MiB beside them.
const QUEUE: usize = 8192;

/// The bytes that longer texts of queued records take.
const LONG: usize = 8 << 20;

/// How long to wait until the queue is written. The reader of a pipe may have stopped reading.
const PATIENCE: Duration = Duration::from_secs(2);

/// The same time if there is haste: enough for a writer that is not blocked.
const LITTLE_PATIENCE: Duration = Duration::from_millis(200);

/// How often a waiting thread checks whether there is haste.
const LOOK: Duration = Duration::from_millis(20);

/// A running access log. Dropping it writes what is queued and waits for that, for a limited time.
#[derive(Debug)]
pub struct AccessLog {
    /// Must be dropped before `thread`, so the order of these fields matters.
    queue: LogSender,
    thread: Awaited,
    /// The counters of the writer.
    counters: Arc<Counters>,
}

/// The writer's thread. Dropping this waits for it.
#[derive(Debug)]
struct Awaited {
    wishes: Arc<Wishes>,
    /// Disconnects when the thread ends.
    ended: Receiver<()>,
}

/// What the writer is asked to do besides writing. It checks at least every `writer::TICK`.
#[derive(Debug, Default)]
struct Wishes {
    reopen: AtomicBool,
    stop: AtomicBool,
    /// Whether the thread that waits for the writer to stop is in a hurry.
    haste: AtomicBool,
}

/// Reaches the access log while it is waited for.
#[derive(Debug)]
pub struct Handle(Arc<Wishes>);

impl Handle {
    /// Shortens the wait from now on.
    pub fn hasten(&self) {
        self.0.haste.store(true, Relaxed);
    }

    /// As [`AccessLog::reopen`].
    pub fn reopen(&self) {
        self.0.reopen.store(true, Relaxed);
    }
}

impl AccessLog {
    /// Opens the log that `log` names and starts its writer. `None` if `log` turns it off.
    ///
    /// # Errors
    /// See [`CannotStart`].
    pub fn start(log: &Log) -> Result<Option<Self>, CannotStart> {
        let Some(target) = Target::of(&log.access) else {
            return Ok(None);
        };
        let (queue, records) = log_queue(QUEUE, LONG);
        let wishes = Arc::new(Wishes::default());
        let counters = Arc::<Counters>::default();
        let writer = Writer::new(target, log.format, wishes.clone(), counters.clone());
        let mut writer = writer.map_err(CannotStart::Unwritable)?;
        let (end, ended) = sync_channel(0);
        thread::Builder::new()
            .name("larder-log".to_owned())
            .spawn(move || {
                // A thread that waits for the end must find the queue closed. Both are dropped here, the queue first.
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

    /// Returns a sender into the queue, for one worker.
    pub fn sender(&self) -> LogSender {
        self.queue.clone()
    }

    /// Returns the counters of the writer.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// Requests that the file is opened again by its name, after it was moved. Takes effect within a fraction of a
    /// second. No effect on standard output.
    pub fn reopen(&self) {
        self.handle().reopen();
    }

    /// Returns a handle that reaches this log until its end.
    pub fn handle(&self) -> Handle {
        Handle(self.thread.wishes.clone())
    }

    /// Writes what is queued and ends the writer. Records that workers send from now on are lost.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // If no worker holds a sender, the writer has already noticed. `stop` is for the other case.
        self.wishes.stop.store(true, Relaxed);
        let asked = Instant::now();
        while self.ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let patience = if self.wishes.haste.load(Relaxed) {
                LITTLE_PATIENCE
            } else {
                PATIENCE
            };
            if asked.elapsed() >= patience {
                // It may be in a write that cannot be cancelled. It ends with the process.
                tracing::warn!(
                    "the access log cannot be written to its end: its last lines are lost"
                );
                return;
            }
        }
    }
}
