//! What waits to be written, and the tasks that wait for it.

use super::format::{Base, Item, Purged};
use crate::{
    NotDurable,
    purge::{Entry, Position, Purge},
};
use std::{
    fmt, io, mem,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::sync::oneshot;
use xxhash_rust::xxh3::xxh3_64;

/// After an error, the file is tried again when a task waits for it, and otherwise after this time.
const RETRY: Duration = Duration::from_secs(1);

/// The most bytes that wait for a file that cannot be written. Beyond it they are forgotten, and after a restart
/// everything stored before counts as purged.
const MOST: usize = 64 << 20;

/// Tells a waiting task whether its purges are on disk.
type DurabilityReply = oneshot::Sender<Result<(), NotDurable>>;

/// A change of the file's state, for the program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It cannot be written, for this reason. Trying again.
    Failing(String),
    /// All that waited has been written.
    Mended,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failing(why) => write!(
                f,
                "the log of purges cannot be written, trying again; what is purged or invalidated until then would come back at a restart: {why}"
            ),
            Self::Mended => f.write_str(
                "the log of purges can be written again, and has all that was purged meanwhile",
            ),
        }
    }
}

/// Gets the events.
type Hook = Box<dyn Fn(&Event) + Send + Sync>;

/// The queue between the log and the thread that writes.
pub(super) struct JournalQueue {
    queue: Mutex<Queue>,
    work: Condvar,
    hook: OnceLock<Hook>,
}

#[derive(Debug, Default)]
struct Queue {
    batch: Batch,
    /// Everything up to this number is on disk.
    saved: u64,
    retired: u64,
    /// Each with the number that it waits for.
    waiting: Vec<(u64, DurabilityReply)>,
    /// Whether the last write failed.
    failing: bool,
    closing: bool,
}

/// What is written at once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The content of a frame.
    pub content: Vec<u8>,
    pub purges: Vec<Weight>,
    /// The last number given out.
    pub last: u64,
    /// Purges up to this number are forgotten.
    pub retired: u64,
    /// The position of the last entry of the shared log.
    position: Option<Position>,
}

/// The bytes that a purge takes in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub sequence: u64,
    /// The hash of what its text names.
    pub hash: u64,
    pub soft: bool,
    pub bytes: u64,
}

impl JournalQueue {
    /// Makes an empty queue. `last` is the last number given out.
    pub fn new(last: u64) -> Self {
        let batch = Batch {
            last,
            ..Batch::default()
        };
        Self {
            queue: Mutex::new(Queue {
                batch,
                saved: last,
                ..Queue::default()
            }),
            work: Condvar::new(),
            hook: OnceLock::new(),
        }
    }

    /// Sends events to `hook`. Only the first call has an effect.
    pub fn tell(&self, hook: Hook) {
        let _ = self.hook.set(hook);
    }

    /// Whether the last write has failed.
    pub fn is_failing(&self) -> bool {
        self.lock().failing
    }

    /// Queues an entry to be written. It is on disk when [`wait_for`](Self::wait_for) says so.
    pub fn append(&self, entry: &Entry) {
        let text = entry.purge.to_text();
        self.lock().batch.append(entry, text.as_bytes());
        self.work.notify_one();
    }

    /// Notes that purges up to `sequence` are forgotten, and need not be kept in the file. The number never goes back.
    pub fn retire(&self, sequence: u64) {
        let mut queue = self.lock();
        if sequence <= queue.retired {
            return;
        }
        queue.retired = sequence;
        queue.batch.retired = sequence;
        Item::Retired(sequence).write(&mut queue.batch.content);
        drop(queue);
        self.work.notify_one();
    }

    /// Tells when everything up to `sequence` that was appended before is on disk; `None` if it already is.
    pub fn wait_for(&self, sequence: u64) -> Option<oneshot::Receiver<Result<(), NotDurable>>> {
        let mut queue = self.lock();
        let sequence = sequence.min(queue.batch.last);
        if sequence <= queue.saved {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        queue.waiting.push((sequence, answer));
        drop(queue);
        self.work.notify_one();
        Some(answered)
    }

    /// Ends the thread that writes, once all that waits has been written or cannot be.
    pub fn close(&self) {
        self.lock().closing = true;
        self.work.notify_one();
    }

    /// Waits until there is something to write, and takes all of it; `None` once the log is closed.
    pub fn next_batch(&self) -> Option<Batch> {
        let mut queue = self.lock();
        let mut rested = false;
        loop {
            let may = !queue.failing || !queue.waiting.is_empty() || rested;
            if may && !queue.batch.content.is_empty() {
                let next = queue.batch.next();
                return Some(mem::replace(&mut queue.batch, next));
            }
            if queue.closing {
                return None;
            }
            (queue, rested) = if queue.failing {
                let waited = self.work.wait_timeout(queue, RETRY);
                let (queue, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                (queue, timeout.timed_out())
            } else {
                let waited = self.work.wait(queue);
                (waited.unwrap_or_else(PoisonError::into_inner), false)
            };
        }
    }

    /// Tells the tasks that wait for `batch` the result. What could not be written stays in front of everything else.
    pub fn written(&self, batch: Batch, result: &io::Result<()>) {
        let mut queue = self.lock();
        let (answered, waiting) = mem::take(&mut queue.waiting)
            .into_iter()
            .partition(|(sequence, _)| *sequence <= batch.last);
        queue.waiting = waiting;
        let answer = match result {
            Ok(()) => Ok(()),
            Err(error) => Err(NotDurable(error.to_string())),
        };
        let failed = mem::replace(&mut queue.failing, result.is_err());
        match result {
            Ok(()) => queue.saved = queue.saved.max(batch.last),
            Err(_) => queue.batch.put_before(batch),
        }
        drop(queue);
        // Before the answers, so that a waiting task finds the event reported.
        match result {
            Err(error) if !failed => self.event(&Event::Failing(error.to_string())),
            Ok(()) if failed => self.event(&Event::Mended),
            _ => {}
        }
        let answered: Vec<(u64, DurabilityReply)> = answered;
        for (_, waits) in answered {
            // The task may have gone.
            let _ = waits.send(answer.clone());
        }
    }

    fn event(&self, event: &Event) {
        if let Some(hook) = self.hook.get() {
            hook(event);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for JournalQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalQueue")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl Batch {
    fn append(&mut self, entry: &Entry, text: &[u8]) {
        let before = self.content.len();
        let purged = Purged {
            sequence: entry.sequence,
            at: entry.at,
            position: entry.position,
            text,
        };
        Item::Purged(purged).write(&mut self.content);
        self.purges
            .push(Weight::of(&purged, self.content.len() - before));
        self.last = entry.sequence;
        self.position = entry.position.or(self.position);
        self.limit();
    }

    /// An empty batch after this one.
    fn next(&self) -> Self {
        Self {
            last: self.last,
            retired: self.retired,
            position: self.position,
            ..Self::default()
        }
    }

    fn put_before(&mut self, mut earlier: Self) {
        earlier.content.append(&mut self.content);
        earlier.purges.append(&mut self.purges);
        self.content = earlier.content;
        self.purges = earlier.purges;
        self.limit();
    }

    fn limit(&mut self) {
        if self.content.len() <= MOST {
            return;
        }
        *self = self.next();
        self.retired = self.last;
        let base = Base {
            head: self.last,
            floor: self.last,
            position: self.position,
        };
        Item::Began(base).write(&mut self.content);
    }
}

impl Weight {
    /// The weight of `purged`, which is written in `bytes` bytes.
    pub fn of(purged: &Purged<'_>, bytes: usize) -> Self {
        let (what, soft) = Purge::split(purged.text);
        Self {
            sequence: purged.sequence,
            hash: xxh3_64(what),
            soft,
            bytes: bytes as u64,
        }
    }
}
