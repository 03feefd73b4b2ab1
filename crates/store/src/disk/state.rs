//! The state that the tier's threads and its callers share.

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
use crate::{
    clock,
    purge::{Address, Log, Purge, What},
};
use std::{
    collections::BTreeMap,
    fs::File,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The state that the tier's threads and its callers share.
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
    pub swept: SweptUpTo,
    /// Whether a key was seen that is more than a URL.
    pub has_long_keys: AtomicBool,
    /// Bytes of all files, and the number of large ones, as the keeper has them.
    pub total: AtomicU64,
    pub large: AtomicU64,
}

/// The numbers of the log up to which everything that can be found was compared with purges.
#[derive(Debug, Default)]
pub(super) struct SweptUpTo {
    /// With hard purges.
    pub hard: AtomicU64,
    /// With all purges.
    pub softly: AtomicU64,
}

/// Bytes of the largest segment of a tier of `size` bytes. There are few enough segments that each can stay open, and
/// enough that the oldest is a small part of all.
pub(super) fn segment_size(size: u64) -> u64 {
    const SMALLEST: u64 = 64 << 10;
    const USUAL: u64 = 128 << 20;
    (size / 32).clamp(SMALLEST, USUAL).max(size / 4096)
}

impl DiskState {
    /// Creates the state of a tier of `size` bytes on `device`, whose directory has the files of `listing`. None of
    /// them are in the index yet.
    pub fn new(size: u64, device: Device, log: Arc<Log>, listing: &Listing) -> Self {
        let segment_size = segment_size(size);
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
            swept: SweptUpTo::default(),
            has_long_keys: AtomicBool::new(false),
            total: AtomicU64::new(0),
            large: AtomicU64::new(0),
            device: Arc::new(device),
            log,
        }
    }

    /// Keeps `file`, the file of `large`, open for those who ask for it next. Returns the one that is kept.
    pub fn keep_open(&self, large: Arc<Large>, file: Arc<File>) -> Arc<Large> {
        let (kept, let_go) = self.open_files.put(large, file);
        if let Some(file) = let_go {
            self.device.tell_keeper(Task::LetGo(file));
        }
        kept
    }

    /// The hash of a key. It is seeded, so that nobody outside can aim at it.
    pub fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.device.seed)
    }

    /// Creates a large file with a new number, for a body of `length` bytes if that is known.
    pub fn new_large(&self, length: Option<u64>) -> Large {
        let id = self.next_large.fetch_add(1, Relaxed);
        Large::new(id, device::random(), length, self.device.clone())
    }

    /// The number of this node's log up to which a record is known to be good.
    pub fn checked(&self, segment: &Segment, written: u64) -> u64 {
        // What an earlier run wrote may be ahead of a log that lost its newest part. If nothing survived at the number
        // where the log stands, the result lies below all of it. If the log did survive, this run began above
        // everything that was written, and `min` changes nothing.
        if segment.id < self.first_segment {
            written.min(self.log_at.saturating_sub(1))
        } else {
            written
        }
    }

    /// Forgets the record at `spot`: it is no longer found. While the tier is loaded, an older version of it, which it
    /// kept out of the index, does not take its place.
    pub fn forget(&self, spot: Spot) {
        // What the keeper loads at this moment meets the one or the other.
        self.withheld.add_variant(spot.key, spot.variant);
        let forgotten = self.index.remove(spot.key, spot.place);
        if let Some(spot) = forgotten.filter(|spot| spot.is_large() || spot.is_counted()) {
            self.device.tell_keeper(Task::Forgotten(spot));
        }
    }

    /// Like [`forget`](Self::forget), for every record under keys with this hash.
    pub fn forget_all(&self, key: u64) {
        for spot in self.index.find(key) {
            self.forget(spot);
        }
    }

    /// Like [`forget_all`](Self::forget_all), for this variant alone, including what is not loaded yet.
    pub fn forget_versions(&self, key: u64, variant: u32) {
        // What the keeper loads at this moment is in the index by the time this is done, or is not added to it.
        self.withheld.add_variant(key, variant);
        for spot in self.index.versions(key, variant) {
            self.forget(spot);
        }
    }

    /// Purges what is stored under `key` on this node.
    pub fn purge(&self, key: &[u8]) {
        let purge = Purge::hard(What::Url(vec![Address::of(key).text()]));
        self.log.apply(purge, clock::now(), None);
    }

    /// Purges everything that is stored on this node.
    pub fn purge_everything(&self) {
        let purge = Purge::hard(What::Everything);
        self.log.apply(purge, clock::now(), None);
    }

    /// The segment of that number, if there is one.
    pub fn segment(&self, id: u32) -> Option<Arc<Segment>> {
        self.segments().get(&id).cloned()
    }

    /// The number of the log that everything in every segment was checked up to at least.
    pub fn oldest_in_segments(&self) -> Option<u64> {
        let segments = self.segments();
        let all = segments.values();
        all.map(|segment| self.checked(segment, segment.checked.load(Relaxed)))
            .min()
    }

    /// All segments by number, the oldest first.
    pub fn segments(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Arc<Segment>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`segments`](Self::segments), to add or remove one. Nobody finds anything meanwhile.
    pub fn segments_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Arc<Segment>>> {
        self.segments
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
