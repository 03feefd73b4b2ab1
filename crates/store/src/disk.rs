//! The disk tier: bigger than memory, survives a restart.
//!
//! Small and middle bodies lie with their heads in *segments*, files that are only appended to (`format`); large ones have a
//! file each. What lies where is kept in memory (`index`), found again at the start (`load`), and changed by one thread
//! alone (`keeper`). Reads take what lies in the page cache at once, and leave anything else to a few threads (`device`,
//! `record`, `open`). Every byte is verified when it is first read since the start; what was verified may go from the page cache
//! to a socket as it lies there (`span`). What purges are held against lies apart (`codec::label`), so that the keeper can go over
//! all of it: what is purged is given up, and counted (`counting`).

mod admission;
mod at_hand;
mod bucket;
mod check;
mod chunk;
mod config;
mod counting;
mod device;
mod directory;
mod files;
mod finding;
mod format;
mod health;
mod index;
mod inline;
mod keeper;
mod large;
mod layout;
mod load;
mod ondisk;
mod open;
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
use health::{Counts, Health};
use index::Spot;
use keeper::Keeper;
use pool::Pool;
use queue::{Queue, Task};
use state::DiskState;
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

pub use check::{Fault, Stat, Verified, stat, verify};
pub use config::{Config, OpenError};
pub use finding::{DiskLookup, Finding};
pub use health::{Doing, Event};
pub use large::Writer;
pub use ondisk::OnDisk;
pub use reader::Reader;
pub use record::Bodies;
pub use span::{FileSpan, MOST_SPAN};
pub use statistics::Statistics;

/// Threads that wait for the device on behalf of readers.
const READERS: usize = 4;

/// Bytes a second that memory may hand down where no other limit is set: what is asked for once and pushes the rest of memory out is
/// not to decide what the device is worn out by.
const DEMOTION_RATE: u64 = 64 << 20;

/// The device failed, or the bytes are not what was written. The tier has counted and logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body cannot be read from disk")]
pub struct Failed;

/// The disk tier. Shared by all workers.
#[derive(Debug)]
pub struct Disk {
    shared: Arc<DiskState>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Last, so that nobody else has the directory before the keeper is done.
    _lock: Locked,
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
            log: place,
        } = config;
        directory::make(&path)?;
        let lock = directory::lock(&path)?;
        let (seed, found) = directory::seed(&path, place.as_deref())?;
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
            .spawn(move || keeper.run(listing.segments))
            .map_err(threads)?;
        Ok(Arc::new(Self {
            shared,
            keeper: Mutex::new(Some(thread)),
            _lock: lock,
        }))
    }

    /// Whether anything is kept under `key`, as far as the index knows: a hash may collide, and what is not loaded yet may be
    /// there.
    pub fn knows(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        !self.shared.is_whole.load(Acquire)
            || self.shared.index.knows(hash)
            || self.shared.device.queue.knows(hash)
    }

    /// As [`knows`](Self::knows), and what is kept under `key` counts as used: memory answers with it, so that nobody asks here.
    pub fn uses(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        self.shared.index.use_all(hash) || self.knows(key)
    }

    /// Whether something of `key` is about to be written.
    pub fn is_coming(&self, key: &[u8]) -> bool {
        self.shared.device.queue.knows(self.shared.hash(key))
    }

    /// Whether another version of `stored`, or the same, is kept under `key`, as far as the index knows; what is not loaded yet may be
    /// there.
    pub fn has_version(&self, key: &[u8], stored: &Stored) -> bool {
        if !self.shared.is_whole.load(Acquire) {
            return true;
        }
        let (hash, variant) = (self.shared.hash(key), Spot::variant(stored));
        let versions = self.shared.index.versions(hash, variant);
        !versions.is_empty()
    }

    /// As [`forget`](Self::forget), of versions of `stored` alone; also of those that are not loaded yet.
    pub fn forget_versions(&self, key: &[u8], stored: &Stored) {
        let (hash, variant) = (self.shared.hash(key), Spot::variant(stored));
        if !self.shared.withheld.add_variant(hash, variant) {
            // Better nothing than an older one.
            self.shared.purge(key);
        }
        let queue = &self.shared.device.queue;
        // First, as `forget` does.
        if queue.knows(hash) {
            queue.push(Task::ForgetVersions(hash, variant));
        }
        self.shared.forget_versions(hash, variant);
    }

    /// Something newer was not taken: nothing older is to be found under `key` later. False where something may be there already, or that
    /// cannot be promised: then it is to be purged.
    pub fn withhold(&self, key: &[u8]) -> bool {
        let hash = self.shared.hash(key);
        let is_there = self.shared.index.knows(hash) || self.shared.device.queue.knows(hash);
        !is_there && self.shared.withheld.add(hash, key) && !self.shared.index.knows(hash)
    }

    /// Nothing is found under `key` any more, until the tier is opened again; nor what was offered before and is not written yet.
    pub fn forget(&self, key: &[u8]) {
        let hash = self.shared.hash(key);
        let queue = &self.shared.device.queue;
        // What waits is in the index by the time that the queue does not know it any more.
        if queue.knows(hash) {
            queue.push(Task::Forget(hash));
        }
        self.shared.forget_all(hash);
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

    /// How far back the tier looks in the log.
    pub fn horizon(&self) -> Horizon {
        let (swept, swept_softly) = &self.shared.swept;
        Horizon {
            after: self.oldest_checked(),
            swept: swept.load(Relaxed),
            swept_softly: swept_softly.load(Relaxed),
        }
    }

    /// Waits until the index is whole and everything that was queued before is written.
    pub fn flush(&self) {
        // They queue what they have written.
        self.shared.device.writers.finish();
        let (answer, done) = sync_channel(1);
        self.shared.device.queue.push(Task::Flush(answer));
        // An error: the tier is closed.
        let _ = done.recv();
    }

    /// Ends the tier, [flushed](Self::flush): nothing more is taken, and the open segment is sealed, so that its index need not be made
    /// out at the next start. A second call does nothing.
    pub fn close(&self) {
        self.flush();
        let device = &self.shared.device;
        device.queue.close();
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = keeper.take() {
            // A keeper that panicked has written nothing more.
            let _ = thread.join();
        }
        device.readers.close();
        device.writers.close();
    }

    /// What the operator should know since the last call; for the program to log now and then.
    pub fn events(&self) -> Vec<Event> {
        self.shared.device.health.take()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.close();
    }
}
