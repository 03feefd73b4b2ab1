//! The disk tier: larger than memory, and kept over a restart.
//!
//! Small and middle bodies lie with their heads in *segments*, files that are only appended to (`format`). Each large
//! body has a file of its own. The index of all records is kept in memory (`index`). It is rebuilt at the start
//! (`load`), and one thread alone changes it (`keeper`). A read takes at once what lies in the page cache; anything
//! else is left to a few threads (`device`, `record`, `open`). Every byte is verified when it is first read after the
//! start. Verified bytes may go from the page cache to a socket directly (`span`). Labels, which purges are compared
//! with, lie apart from their records (`codec::label`), so that the keeper can go over all of them: it gives up what is
//! purged, and counts it (`counting`).

mod admission;
mod at_hand;
mod bucket;
mod check;
mod chunk;
mod coming;
mod config;
mod counting;
mod device;
mod directory;
mod ending;
mod event;
mod files;
mod finding;
mod format;
mod found;
mod health;
mod index;
mod inline;
mod keeper;
mod large;
mod layout;
mod load;
mod ondisk;
mod open;
mod passing;
mod pool;
mod queue;
mod reader;
mod record;
mod scan;
mod segment;
mod sound;
mod source;
mod span;
mod state;
mod statistics;
#[cfg(test)]
mod tests;
mod withheld;

use crate::{Horizon, Stored, lock::Locked, purge::Log};
use bucket::Bucket;
use device::Device;
use directory::Before;
use health::Health;
use index::Spot;
use keeper::Keeper;
use pool::Pool;
use queue::{Queue, Task};
use state::DiskState;
use statistics::Counts;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Relaxed},
        },
        mpsc::sync_channel,
    },
    thread::{self, JoinHandle},
    time::Instant,
};

pub use check::{Fault, Stat, Verified, What, stat, verify};
pub use config::{Config, OpenError};
pub use event::{Doing, Event};
pub use finding::{DiskLookup, Finding};
pub use large::Writer;
pub use ondisk::OnDisk;
pub use reader::Reader;
pub use record::Bodies;
pub use span::{FileSpan, MOST_SPAN};
pub use statistics::Statistics;

/// Number of threads that wait for the device on behalf of readers.
const READERS: usize = 4;

/// Bytes a second that memory may demote where no other limit is set. Responses that are asked for once and push the
/// rest out of memory must not decide how fast the device wears out.
const DEMOTION_RATE: u64 = 64 << 20;

/// The device failed, or the bytes are not those that were written. The tier has already counted and logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body cannot be read from disk")]
pub struct Failed;

/// The disk tier. Shared by all workers.
#[derive(Debug)]
pub struct Disk {
    shared: Arc<DiskState>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Last field, so that no other process gets the directory before the keeper is done.
    _lock: Locked,
}

impl Disk {
    /// Opens the tier in its directory. Returns at once: a thread of the tier reads the index, which is already used
    /// meanwhile.
    ///
    /// `log` must have read its journal already. What an earlier run wrote is compared with it. If that run had checked
    /// something further than `log` now stands, it counts as checked up to there.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(config: Config, log: Arc<Log>) -> Result<Arc<Self>, OpenError> {
        let Config {
            path,
            size,
            write_rate,
            log: place,
        } = config;
        directory::make(&path)?;
        let lock = directory::lock(&path)?;
        let (seed, found) = directory::seed(&path, place.as_deref())?;
        let listing = directory::list(&path)?;
        let segments = found::open_all(&path, listing.segments.clone(), size)?;
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
        if found == Before::BesideAnotherLog {
            device.health.tell(Event::Outdated);
        }
        let shared = Arc::new(DiskState::new(size, device, log, &listing));
        let mut keeper = Keeper::new(shared.clone());
        for (id, bytes) in listing.large {
            keeper.found_large(id, bytes);
        }
        let thread = thread::Builder::new()
            .name("larder-disk".to_owned())
            .spawn(move || keeper.run(segments))
            .map_err(threads)?;
        Ok(Arc::new(Self {
            shared,
            keeper: Mutex::new(Some(thread)),
            _lock: lock,
        }))
    }

    /// Whether anything is kept under `key`, as far as the index knows: hashes may collide, and what is not loaded yet
    /// may be there.
    pub fn knows(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        // In this order: what waits no longer is in the index.
        !self.shared.is_whole.load(Acquire)
            || self.shared.device.queue.knows(hash)
            || self.shared.index.knows(hash)
    }

    /// Like [`knows`](Self::knows), and counts what is kept under `key` as used. For keys that memory answers, because
    /// then nobody asks here.
    pub fn uses(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        self.shared.index.use_all(hash) || self.knows(key)
    }

    /// Whether something of `key` is about to be written.
    pub fn is_coming(&self, key: &[u8]) -> bool {
        self.shared.device.queue.knows(self.shared.hash(key))
    }

    /// Whether this or another version of `stored` is kept under `key`, as far as the index knows; what is not loaded
    /// yet may be there.
    pub fn has_version(&self, key: &[u8], stored: &Stored) -> bool {
        if !self.shared.is_whole.load(Acquire) {
            return true;
        }
        let (hash, variant) = (self.shared.hash(key), Spot::variant(stored));
        let versions = self.shared.index.versions(hash, variant);
        !versions.is_empty()
    }

    /// Whether all that is kept of this and other versions of `stored`, here and for the next start, is that they were
    /// [given up](Stored::given_up). False if that is not known.
    pub fn has_given_up(&self, key: &[u8], stored: &Stored) -> bool {
        let (hash, variant) = (self.shared.hash(key), Spot::variant(stored));
        // In this order: what waits no longer is in the index.
        if self.shared.device.queue.knows(hash) {
            return false;
        }
        let versions = self.shared.index.versions(hash, variant);
        versions.iter().any(Spot::is_given_up)
    }

    /// Like [`forget`](Self::forget), for versions of `stored` alone, including those that are not loaded yet.
    pub fn forget_versions(&self, key: &[u8], stored: &Stored) {
        let (hash, variant) = (self.shared.hash(key), Spot::variant(stored));
        let is_version = |waiting: &Stored| Spot::variant(waiting) == variant;
        // Before the index, as in `forget`.
        self.shared.device.queue.forget(hash, is_version);
        self.shared.forget_versions(hash, variant);
    }

    /// Makes sure that nothing older is found under `key` later, because something newer was not taken. False if
    /// something may be there already, or if that cannot be promised: then the caller must purge the key.
    pub fn withhold(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        let is_there = self.shared.index.knows(hash) || self.shared.device.queue.knows(hash);
        !is_there && self.shared.withheld.add(hash, key) && !self.shared.index.knows(hash)
    }

    /// Forgets everything under `key`: what is written, until the tier is opened again, and what was offered before and
    /// is not written yet, for good.
    pub fn forget(&self, key: &[u8]) {
        let hash = self.shared.hash(key);
        // Before the index, which has what no longer waits.
        self.shared.device.queue.forget(hash, |_| true);
        self.shared.forget_all(hash);
    }

    /// The smallest number of the log that anything kept was checked up to: the log must remember the purges after it.
    /// `None` if nothing is kept.
    pub fn oldest_checked(&self) -> Option<u64> {
        if !self.shared.is_whole.load(Acquire) {
            return Some(0);
        }
        // This may miss a response that is between the two at this moment. Once the log forgets, that response counts
        // as purged.
        let queued = self.shared.device.queue.oldest_checked();
        let written = self.shared.oldest_in_segments();
        queued.into_iter().chain(written).min()
    }

    /// How far back the tier looks in the log.
    pub fn horizon(&self) -> Horizon {
        let swept = &self.shared.swept;
        Horizon {
            after: self.oldest_checked(),
            swept: swept.hard.load(Relaxed),
            swept_softly: swept.softly.load(Relaxed),
        }
    }

    /// Waits until the index is whole and everything that was queued before is written.
    pub fn flush(&self) {
        // The writers queue what they have written.
        self.shared.device.writers.finish();
        let (answer, done) = sync_channel(1);
        self.shared.device.queue.push(Task::Flush(answer));
        // An error means that the tier is closed.
        let _ = done.recv();
    }

    /// [Flushes](Self::flush) and closes the tier. Nothing more is taken. The open segment is sealed, so that its index
    /// need not be rebuilt at the next start. A second call does nothing.
    pub fn close(&self) {
        self.flush();
        let device = &self.shared.device;
        device.queue.close();
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = keeper.take() {
            // If the keeper panicked, it has written nothing more.
            let _ = thread.join();
        }
        device.readers.close();
        device.writers.close();
    }

    /// Takes the events since the last call that the operator should know. The program logs them now and then.
    pub fn events(&self) -> Vec<Event> {
        self.shared.device.health.take()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.close();
    }
}
