//! The thread that writes the access log.

use super::{Wishes, batch::Batch, line, stamp::Stamp, target::Target};
use crate::config::written::AccessFormat;
use proxy::outcome::{Counters, LogReceiver, Record};
use std::{
    fs::File,
    io,
    sync::{Arc, atomic::Ordering::Relaxed, mpsc::RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// How often an idle writer checks `Wishes`.
pub(super) const TICK: Duration = Duration::from_millis(200);

/// How long records are collected before they are written. While the writer sleeps this way, and not on the queue, a
/// worker that sends has no thread to wake. Otherwise each record of a half-busy server would cost its worker a system
/// call.
const GATHER: Duration = Duration::from_millis(10);

/// The longest time after which a line reaches the file, however busy the queue is.
const FLUSH: Duration = Duration::from_secs(1);

/// Largest number of bytes of collected lines, before one more line.
const BUFFER: usize = 64 << 10;

/// Formats lines and writes them.
pub(super) struct Writer {
    target: Target,
    format: AccessFormat,
    wishes: Arc<Wishes>,
    out: File,
    batch: Batch,
    stamp: Stamp,
    /// The writer's own counters: what could not be written is counted as lost.
    counters: Arc<Counters>,
    /// Whether lines are being lost.
    failing: bool,
}

impl Writer {
    pub(super) fn new(
        target: Target,
        format: AccessFormat,
        wishes: Arc<Wishes>,
        counters: Arc<Counters>,
    ) -> io::Result<Self> {
        let out = target.open()?;
        Ok(Self {
            target,
            format,
            wishes,
            out,
            batch: Batch::default(),
            stamp: Stamp::default(),
            counters,
            failing: false,
        })
    }

    /// Writes until no sender is left, or until told to stop. Then it writes what is queued, and no more. The queue is
    /// closed when this returns.
    #[expect(clippy::needless_pass_by_value, reason = "it closes the queue")]
    pub(super) fn run(&mut self, records: LogReceiver) {
        loop {
            let received = records.recv_timeout(TICK);
            if self.wishes.reopen.swap(false, Relaxed) {
                self.reopen();
            }
            let ended = matches!(received, Err(RecvTimeoutError::Disconnected));
            if let Ok(record) = received {
                self.write(&record);
                self.drain(&records);
            }
            if ended || self.wishes.stop.load(Relaxed) {
                let queued = records.queued().take(super::QUEUE);
                queued.for_each(|record| self.write(&record));
                self.flush();
                return;
            }
        }
    }

    /// Writes batch after batch, until one is empty.
    fn drain(&mut self, records: &LogReceiver) {
        let mut flushed = Instant::now();
        while !self.wishes.stop.load(Relaxed) && !self.wishes.reopen.load(Relaxed) {
            thread::sleep(GATHER);
            let mut batch = 0_usize;
            for record in records.queued().take(super::QUEUE) {
                self.write(&record);
                batch += 1;
            }
            if batch == 0 {
                break;
            }
            if flushed.elapsed() >= FLUSH {
                self.flush();
                flushed = Instant::now();
            }
        }
        self.flush();
    }

    fn write(&mut self, record: &Record) {
        let (format, stamp) = (self.format, &mut self.stamp);
        if let Err(error) = self
            .batch
            .add(|out| line::write(record, format, stamp, out))
        {
            self.fail(&error, 1);
        }
        if self.batch.length() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        match self.batch.write_to(&mut self.out) {
            Ok(0) => {}
            Ok(_) if self.failing => {
                self.failing = false;
                tracing::info!("the access log is written again");
            }
            Ok(_) => {}
            Err(error) => {
                let lost = self.batch.lose();
                self.fail(&error, lost);
            }
        }
    }

    /// Logs the first failure, but not every line lost after it.
    fn fail(&mut self, error: &io::Error, lost: u64) {
        self.counters.log_lost.fetch_add(lost, Relaxed);
        if !self.failing {
            self.failing = true;
            tracing::error!(%error, "cannot write the access log: lines are lost");
        }
    }

    /// Continues in a new file under the old name. If that cannot be opened, the old file stays in use.
    fn reopen(&mut self) {
        self.flush();
        match self.target.open() {
            Ok(file) => {
                self.out = file;
                let lost = self.batch.leave();
                self.counters.log_lost.fetch_add(lost, Relaxed);
            }
            Err(error) => {
                tracing::error!(%error, "cannot open the access log again: going on with the old file");
            }
        }
    }
}
