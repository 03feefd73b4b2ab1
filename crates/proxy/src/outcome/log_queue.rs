//! The queue between the workers and the writer of the access log: bounded by records, and by what they take.

use super::Record;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};

/// Up to this many bytes of a record's text are bounded by the number of records alone, so that the usual one touches
/// no further memory that workers share.
const SHORT: usize = 512;

/// A worker's end of the queue.
#[derive(Clone, Debug)]
pub struct LogSender(Arc<Bounded>);

#[derive(Debug)]
struct Bounded {
    records: SyncSender<Record>,
    /// What queued records take beyond [`SHORT`] each, in bytes.
    long: Arc<AtomicUsize>,
    /// The limit on that.
    most_long: usize,
}

/// The writer's end of the queue. It is closed when this is dropped.
#[derive(Debug)]
pub struct LogReceiver {
    records: Receiver<Record>,
    long: Arc<AtomicUsize>,
}

/// The queue does not take a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotQueued {
    /// The queue is full.
    Full,
    /// Nobody writes any more.
    Closed,
}

/// Creates a queue for `most` records, whose long texts take at most about `most_long` bytes. The places of the records
/// are allocated at once.
pub fn log_queue(most: usize, most_long: usize) -> (LogSender, LogReceiver) {
    let (sender, receiver) = sync_channel(most);
    let long = Arc::<AtomicUsize>::default();
    let sender = LogSender(Arc::new(Bounded {
        records: sender,
        long: long.clone(),
        most_long,
    }));
    let receiver = LogReceiver {
        records: receiver,
        long,
    };
    (sender, receiver)
}

/// What a record takes beyond [`SHORT`].
fn beyond(record: &Record) -> usize {
    let text = record.text.length() + record.method.as_str().len();
    text.saturating_sub(SHORT)
}

impl LogSender {
    /// Queues a record, if there is room.
    ///
    /// # Errors
    /// See [`NotQueued`].
    pub fn send(&self, record: Record) -> Result<(), NotQueued> {
        let Bounded {
            records,
            long,
            most_long,
        } = &*self.0;
        let beyond = beyond(&record);
        if beyond > 0 && long.fetch_add(beyond, Relaxed) + beyond > *most_long {
            long.fetch_sub(beyond, Relaxed);
            return Err(NotQueued::Full);
        }
        records.try_send(record).map_err(|error| {
            if beyond > 0 {
                long.fetch_sub(beyond, Relaxed);
            }
            match error {
                TrySendError::Full(_) => NotQueued::Full,
                TrySendError::Disconnected(_) => NotQueued::Closed,
            }
        })
    }
}

impl LogReceiver {
    /// Waits for the next record, as [`Receiver::recv_timeout`].
    ///
    /// # Errors
    /// None came in that time, or none will come.
    pub fn recv_timeout(&self, time: Duration) -> Result<Record, RecvTimeoutError> {
        self.records
            .recv_timeout(time)
            .inspect(|record| self.received(record))
    }

    /// The records that are queued, without waiting for more.
    pub fn queued(&self) -> impl Iterator<Item = Record> {
        self.records
            .try_iter()
            .inspect(|record| self.received(record))
    }

    fn received(&self, record: &Record) {
        let beyond = beyond(record);
        if beyond > 0 {
            self.long.fetch_sub(beyond, Relaxed);
        }
    }
}
