//! What the threads of the tier and its callers share.

use super::{
    device::{self, Device},
    directory::Listing,
    files::OpenFiles,
    format,
    index::{Index, Spot},
    large::Large,
    queue::Task,
    segment::Segment,
    withheld::Withheld,
};
use crate::purge::{Address, Log, Purge, What};
use std::{
    collections::BTreeMap,
    fs::File,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::SystemTime,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What the tier's threads and its callers share.
#[derive(Debug)]
pub(super) struct DiskState {
    pub device: Arc<Device>,
    pub log: Arc<Log>,
    /// Where the log stood when the tier was opened, and the first segment that was written since.
    pub log_at: u64,
    pub first_segment: u32,
    pub first_large: u64,
    next_large: AtomicU64,
    pub size: u64,
    pub segment_size: u64,
    pub most_inline: u64,
    pub most_large: u64,
    pub index: Index,
    segments: RwLock<BTreeMap<u32, Arc<Segment>>>,
    pub open_files: OpenFiles,
    pub is_whole: AtomicBool,
    pub withheld: Withheld,
    /// The numbers up to which purges, hard ones and all, were held against everything that is found.
    pub swept: (AtomicU64, AtomicU64),
    /// Whether keys were seen that hold more than a URL.
    pub has_long_keys: AtomicBool,
    /// As the keeper has them.
    pub total: AtomicU64,
    pub large: AtomicU64,
}

impl DiskState {
    /// A tier of `size` bytes on `device`, in whose directory `listing` was found. Nothing of that is in the index yet.
    pub fn new(size: u64, device: Device, log: Arc<Log>, listing: &Listing) -> Self {
        const SMALLEST: u64 = 64 << 10;
        const USUAL: u64 = 128 << 20;
        // Few enough that each can stay open, and enough that the oldest is a small part of all.
        let segment_size = (size / 32).clamp(SMALLEST, USUAL).max(size / 4096);
        let (segments, large) = (listing.segments.iter(), listing.large.iter());
        let next_segment = segments.max().unwrap_or(&0).saturating_add(1);
        let next_large = large.map(|(id, _)| *id).max().unwrap_or(0);
        let next_large = next_large.saturating_add(1);
        Self {
            log_at: log.head(),
            first_segment: next_segment,
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
            withheld: Withheld::default(),
            swept: (AtomicU64::new(0), AtomicU64::new(0)),
            has_long_keys: AtomicBool::new(false),
            total: AtomicU64::new(0),
            large: AtomicU64::new(0),
            device: Arc::new(device),
            log,
        }
    }

    /// Keeps `file` open, which is that of `large`, for those who ask for it next. The one that is kept.
    pub fn keep_open(&self, large: Arc<Large>, file: Arc<File>) -> Arc<Large> {
        let (kept, left) = self.open_files.put(large, file);
        if let Some(left) = left {
            self.device.tell_keeper(Task::Left(left));
        }
        kept
    }

    /// The hash of a key; nobody outside can aim at it.
    pub fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.device.seed)
    }

    /// A large file of a number of its own, for a body of `length` bytes if that is known.
    pub fn new_large(&self, length: Option<u64>) -> Large {
        let id = self.next_large.fetch_add(1, Relaxed);
        Large::new(id, device::random(), length, self.device.clone())
    }

    /// Up to which number of this node's log a record is known to be good.
    pub fn checked(&self, segment: &Segment, written: u64) -> u64 {
        // What another run wrote may be ahead of a log that did not survive as far. Where that stands at nothing that survived,
        // this lies below all of it; where it did survive, this run began above all that was written, and it changes nothing.
        if segment.id < self.first_segment {
            written.min(self.log_at.saturating_sub(1))
        } else {
            written
        }
    }

    /// The record at `spot` is not to be found any more.
    pub fn forget(&self, spot: Spot) {
        let gone = self.index.remove(spot.key, spot.place);
        if let Some(gone) = gone.filter(|gone| gone.is_large() || gone.is_counted()) {
            self.device.tell_keeper(Task::Forgotten(gone));
        }
    }

    /// As [`forget`](Self::forget), of every record under the key of this hash.
    pub fn forget_all(&self, key: u64) {
        for spot in self.index.find(key) {
            self.forget(spot);
        }
    }

    /// As [`forget_all`](Self::forget_all), of what is of this variant.
    pub fn forget_versions(&self, key: u64, variant: u32) {
        for spot in self.index.versions(key, variant) {
            self.forget(spot);
        }
    }

    /// Purges what is stored under `key` on this node.
    pub fn purge(&self, key: &[u8]) {
        let purge = Purge::hard(What::Url(vec![Address::of(key).text()]));
        self.log.apply(purge, SystemTime::now().into(), None);
    }

    /// The open segment of that number.
    pub fn segment(&self, id: u32) -> Option<Arc<Segment>> {
        self.segments().get(&id).cloned()
    }

    /// The number of the log that everything in any segment was checked up to at least.
    pub fn oldest_in_segments(&self) -> Option<u64> {
        let segments = self.segments();
        let all = segments.values();
        all.map(|segment| self.checked(segment, segment.checked.load(Relaxed)))
            .min()
    }

    /// All segments by their numbers, the oldest first.
    pub fn segments(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Segment>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`segments`](Self::segments), to add or remove one: nobody finds any meanwhile.
    pub fn segments_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Arc<Segment>>> {
        self.segments
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
