//! The disk tier: bigger than memory, survives a restart.
//!
//! Small and middle bodies lie with their heads in *segments*, files that are only appended to (`format`); large ones have a
//! file each. What lies where is kept in memory (`index`), found again at the start (`load`), and changed by one thread
//! alone (`keeper`). Reads take what lies in the page cache at once, and leave anything else to a few threads (`device`,
//! `record`, `ondisk`). Every byte is verified when it is first read since the start; what was verified may go from the page cache
//! to a socket as it lies there (`span`).

mod bucket;
mod check;
mod device;
mod directory;
mod files;
mod format;
mod health;
mod index;
mod keeper;
mod large;
mod layout;
mod load;
mod ondisk;
mod pool;
mod queue;
mod record;
mod scan;
mod segment;
mod sound;
mod span;
mod statistics;
#[cfg(test)]
mod tests;

use crate::{
    Body, Stored,
    lock::Locked,
    purge::{Log, Standing},
};
use bucket::Bucket;
use device::{Device, Manner, Missed};
use files::OpenFiles;
use health::{Counts, Health, count};
use index::{Index, Spot};
use keeper::Keeper;
use large::Large;
use pool::Pool;
use queue::{Queue, Task};
use segment::Segment;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed},
        },
        mpsc::sync_channel,
    },
    task::{Context, Poll, ready},
    thread::{self, JoinHandle},
    time::Instant,
};
use tokio::sync::oneshot;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use check::{Fault, Stat, Verified, stat, verify};
pub use health::{Doing, Event};
pub use large::Writer;
pub use ondisk::{OnDisk, Reader};
pub use record::Bodies;
pub use span::{FileSpan, MOST_SPAN};
pub use statistics::Statistics;

/// Threads that wait for the device on behalf of readers.
const READERS: usize = 4;

/// Bytes a second that memory may hand down where no other limit is set: what is asked for once and pushes the rest of memory out is
/// not to decide what the device is worn out by.
const DEMOTION_RATE: u64 = 64 << 20;

/// How the disk tier is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directory; made where it is missing, as long as its parent is there.
    pub path: PathBuf,
    /// Bytes that all files together may take: a hard limit.
    pub size: u64,
    /// Bytes that may be written a second, so that a scan does not wear the device out; `None`: no limit, but for 64 MiB of what
    /// memory evicts.
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

/// The device failed, or the bytes are not what was written. The tier has counted and logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body cannot be read from disk")]
pub struct Failed;

/// The disk tier. Shared by all workers.
#[derive(Debug)]
pub struct Disk {
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Last, so that nobody else has the directory before the keeper is done.
    _lock: Locked,
}

/// What the tier's threads and its callers share.
#[derive(Debug)]
struct Shared {
    device: Arc<Device>,
    log: Arc<Log>,
    /// Where the log stood when the tier was opened, and the first segment that was written since.
    began: u64,
    first_segment: u32,
    first_large: u64,
    next_large: AtomicU64,
    size: u64,
    segment_size: u64,
    most_inline: u64,
    most_large: u64,
    index: Index,
    segments: RwLock<BTreeMap<u32, Arc<Segment>>>,
    open_files: OpenFiles,
    is_whole: AtomicBool,
    /// As the keeper has them.
    total: AtomicU64,
    large: AtomicU64,
}

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
pub struct Finding(oneshot::Receiver<Vec<Arc<Stored>>>);

impl Future for Finding {
    /// Empty where nothing is there after all.
    type Output = Vec<Arc<Stored>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(context)).unwrap_or_default())
    }
}

impl Disk {
    /// Takes the directory. Returns at once: the index is read by a thread of the tier, and used while it is.
    ///
    /// `log` has taken back what its journal kept: what another run wrote is held against it, and what that run had checked
    /// further than `log` stands now counts as checked up to there.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(config: Config, log: Arc<Log>) -> Result<Arc<Self>, OpenError> {
        let Config {
            path,
            size,
            write_rate,
        } = config;
        directory::make(&path)?;
        let lock = directory::lock(&path)?;
        let seed = directory::seed(&path)?;
        let listing = directory::list(&path)?;
        let threads = |error| OpenError::Io(path.clone(), error);
        let device = Device {
            path: path.clone(),
            seed,
            readers: Pool::start("larder-disk-read", READERS).map_err(threads)?,
            writers: Pool::start("larder-disk-large", 1).map_err(threads)?,
            queue: Queue::default(),
            health: Health::new(),
            bucket: Bucket::new(write_rate, Instant::now()),
            demotions: Bucket::new(
                write_rate.is_none().then_some(DEMOTION_RATE),
                Instant::now(),
            ),
            counts: Counts::default(),
            always_waits: AtomicBool::new(false),
            began: Instant::now(),
        };
        let shared = Arc::new(Shared::new(size, device, log, &listing));
        let mut keeper = Keeper::new(shared.clone());
        for (id, bytes) in listing.large {
            keeper.found_large(id, bytes);
        }
        let thread = thread::Builder::new()
            .name("larder-disk".to_owned())
            .spawn(move || keeper.run(listing.segments))
            .map_err(threads)?;
        Ok(Arc::new(Self {
            shared,
            keeper: Mutex::new(Some(thread)),
            _lock: lock,
        }))
    }

    /// What is kept under `key`; never waits. Small bodies come with it, large ones as [`OnDisk`]; those between as `bodies` says,
    /// where the device need not be waited for. What a purge covers is not found any more.
    pub fn find(&self, key: &[u8], bodies: Bodies) -> Found {
        let spots = self.shared.index.find(self.shared.hash(key));
        let mut here = Vec::new();
        for (number, spot) in spots.iter().enumerate() {
            match self.shared.standing(key, *spot, Manner::AtOnce, bodies) {
                Ok(found) => here.extend(found),
                Err(Missed::Waits) => {
                    let rest = spots.get(number..).unwrap_or_default().to_vec();
                    return match self.read_soon(key, rest, here, true) {
                        Some(finding) => Found::Wait(finding),
                        None => Found::Nothing,
                    };
                }
                Err(Missed::Damaged | Missed::Failed) => {}
            }
        }
        self.shared.count(!here.is_empty());
        if here.is_empty() {
            Found::Nothing
        } else {
            Found::Here(here)
        }
    }

    /// As [`find`](Self::find), waiting where the device must be waited for, and neither a hit nor a miss: for who wants to know
    /// what is there, and answers nothing with it.
    pub async fn peek(&self, key: &[u8]) -> Vec<Arc<Stored>> {
        let spots = self.shared.index.find(self.shared.hash(key));
        match self.read_soon(key, spots, Vec::new(), false) {
            Some(finding) => finding.await,
            None => Vec::new(),
        }
    }

    /// Has `rest` read by a thread of the tier; `None` where too many reads wait already.
    fn read_soon(
        &self,
        key: &[u8],
        rest: Vec<Spot>,
        mut here: Vec<Arc<Stored>>,
        counts: bool,
    ) -> Option<Finding> {
        let (answer, finding) = oneshot::channel();
        let (shared, key) = (self.shared.clone(), Box::<[u8]>::from(key));
        let read = move || {
            for spot in rest {
                let found = shared.standing(&key, spot, Manner::Waiting, Bodies::Read);
                here.extend(found.ok().flatten());
            }
            if counts {
                shared.count(!here.is_empty());
            }
            // Who asked may have gone.
            let _ = answer.send(here);
        };
        let is_taken = self.shared.device.readers.run_soon(read);
        if counts && !is_taken {
            self.shared.count(false);
        }
        is_taken.then_some(Finding(finding))
    }

    /// Whether anything is kept under `key`, as far as the index knows: a hash may collide, and what is not loaded yet may be
    /// there.
    pub fn knows(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        !self.shared.is_whole.load(Acquire)
            || self.shared.index.knows(hash)
            || self.shared.device.queue.knows(hash)
    }

    /// Nothing is found under `key` any more, until the tier is opened again.
    pub fn forget(&self, key: &[u8]) {
        for spot in self.shared.index.find(self.shared.hash(key)) {
            self.shared.forget(spot);
        }
    }

    /// Queues `stored` to be written. False where it is not taken: queue full, write rate used up (neither counts for what takes
    /// the place of another), tier out of order.
    pub fn offer(&self, key: &[u8], stored: &Arc<Stored>) -> bool {
        self.take(key, stored, None)
    }

    /// As [`offer`](Self::offer), of what memory has evicted, at a bounded rate.
    pub fn demote(&self, key: &[u8], stored: &Arc<Stored>) -> bool {
        self.take(key, stored, Some(&self.shared.device.demotions))
    }

    fn take(&self, key: &[u8], stored: &Arc<Stored>, of: Option<&Bucket>) -> bool {
        let device = &self.shared.device;
        let bytes = match &stored.body {
            Body::Filling(_) => return false,
            Body::Disk(_) => 0,
            body => body.length().unwrap_or(0),
        };
        let size = bytes + (key.len() + stored.fields.len()) as u64;
        let hash = self.shared.hash(key);
        let replaces = device.queue.knows(hash) || self.shared.index.knows(hash);
        let buckets = || of.into_iter().chain([&device.bucket]);
        if replaces {
            buckets().for_each(|bucket| bucket.spend(size));
        }
        let has_leave = || buckets().all(|bucket| bucket.take(size, Instant::now()));
        let takes = bytes <= self.shared.most_large
            && device.health.may(Doing::Writing)
            && (replaces || has_leave())
            && device.queue.offer(key, hash, stored, replaces);
        if !takes {
            count(&device.counts.refused);
        }
        takes
    }

    /// Begins a body too large for memory, of `length` bytes if that is known. `None` where the tier does not take it.
    pub fn begin(&self, length: Option<u64>) -> Option<Writer> {
        let device = &self.shared.device;
        let takes = length.is_none_or(|length| length <= self.shared.most_large)
            && device.health.may(Doing::Writing)
            && device.bucket.take(0, Instant::now());
        if !takes {
            count(&device.counts.refused);
            return None;
        }
        let large = Arc::new(self.shared.new_large(length));
        Some(Writer::new(large, self.shared.most_large))
    }

    /// The smallest number of the log that anything kept was checked up to: purges after it must be remembered. `None`: nothing
    /// is kept.
    pub fn oldest_checked(&self) -> Option<u64> {
        if !self.shared.is_whole.load(Acquire) {
            return Some(0);
        }
        // What is between the two at this moment may be missed: once the log forgets, it counts as purged.
        let queued = self.shared.device.queue.oldest_checked();
        let written = self.shared.oldest_in_segments();
        queued.into_iter().chain(written).min()
    }

    /// Waits until the index is whole and everything that was queued before is written. For a graceful stop, and for tests.
    pub fn flush(&self) {
        // Heads that wait for their large file.
        self.shared.device.writers.finish();
        let (answer, done) = sync_channel(1);
        self.shared.device.queue.push(Task::Flush(answer));
        // An error: the tier is closed.
        let _ = done.recv();
    }

    /// What the operator should know since the last call; for the program to log now and then.
    pub fn events(&self) -> Vec<Event> {
        self.shared.device.health.take()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let device = &self.shared.device;
        // What has begun is completed, and needs the keeper for that.
        device.writers.finish();
        device.queue.close();
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = keeper.take() {
            // A keeper that panicked has written nothing more.
            let _ = thread.join();
        }
        device.readers.close();
        device.writers.close();
    }
}

impl Shared {
    fn new(size: u64, device: Device, log: Arc<Log>, listing: &directory::Listing) -> Self {
        const SMALLEST: u64 = 64 << 10;
        const USUAL: u64 = 128 << 20;
        // Few enough that each can stay open, and enough that the oldest is a small part of all.
        let segment_size = (size / 32).clamp(SMALLEST, USUAL).max(size / 4096);
        let next_large = listing.large.iter().map(|(id, _)| *id).max().unwrap_or(0) + 1;
        Self {
            began: log.head(),
            first_segment: listing.segments.iter().max().unwrap_or(&0) + 1,
            first_large: next_large,
            next_large: AtomicU64::new(next_large),
            size,
            segment_size,
            most_inline: format::MOST_INLINE.min(segment_size / 4),
            most_large: size / 2,
            index: Index::new(),
            segments: RwLock::default(),
            open_files: OpenFiles::default(),
            is_whole: AtomicBool::new(false),
            total: AtomicU64::new(0),
            large: AtomicU64::new(0),
            device: Arc::new(device),
            log,
        }
    }

    /// The hash of a key; nobody outside can aim at it.
    fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.device.seed)
    }

    /// The stored response at `spot`, unless a purge covers it.
    fn standing(
        &self,
        key: &[u8],
        spot: Spot,
        manner: Manner,
        bodies: Bodies,
    ) -> Result<Option<Arc<Stored>>, Missed> {
        let Some(stored) = self.read(key, spot, manner, bodies)? else {
            return Ok(None);
        };
        if self.log.standing(key, &stored) == Standing::Gone {
            self.forget(spot);
            return Ok(None);
        }
        Ok(Some(Arc::new(stored)))
    }

    fn count(&self, is_hit: bool) {
        let counts = &self.device.counts;
        count(if is_hit { &counts.hits } else { &counts.misses });
    }

    /// A large file of a number of its own, for a body of `length` bytes if that is known.
    fn new_large(&self, length: Option<u64>) -> Large {
        let id = self.next_large.fetch_add(1, Relaxed);
        Large::new(id, device::random(), length, self.device.clone())
    }

    fn segments(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Segment>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn segments_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Arc<Segment>>> {
        self.segments
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
