//! Large files: those that are open, and which records name which.

use super::{index::RecordPosition, large::Large};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// At most so many stay open that nobody reads.
const MOST_OPEN: usize = 256;

/// Large files that were asked for lately.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(Mutex<RecentFiles>);

#[derive(Debug, Default)]
struct RecentFiles {
    files: HashMap<u64, OpenFile>,
    order: VecDeque<u64>,
}

/// A large file that is kept open.
#[derive(Debug)]
struct OpenFile {
    large: Arc<Large>,
    file: Arc<File>,
}

impl OpenFiles {
    /// The file of that number; `None` where it is not kept open.
    pub fn get(&self, id: u64) -> Option<Arc<Large>> {
        let open = self.lock();
        open.files.get(&id).map(|open| open.large.clone())
    }

    /// Keeps `file` open, which is that of `large`. Returns the one that is kept, which another may have opened before, and what is kept
    /// open no more for it.
    pub fn put(&self, large: Arc<Large>, file: Arc<File>) -> (Arc<Large>, Option<Arc<File>>) {
        let mut open = self.lock();
        if let Some(kept) = open.files.get(&large.id) {
            let other = (!Arc::ptr_eq(&kept.file, &file)).then_some(file);
            return (kept.large.clone(), other);
        }
        let oldest = (open.order.len() >= MOST_OPEN)
            .then(|| open.order.pop_front())
            .flatten();
        let left = oldest.and_then(|oldest| open.files.remove(&oldest));
        open.order.push_back(large.id);
        let kept = OpenFile {
            large: large.clone(),
            file,
        };
        open.files.insert(large.id, kept);
        (large, left.map(|left| left.file))
    }

    /// Keeps it open no more, since it makes room for others. Who reads it goes on.
    pub fn remove(&self, id: u64) -> Option<Arc<File>> {
        let mut open = self.lock();
        let left = open.files.remove(&id)?;
        open.order.retain(|other| *other != id);
        left.large.leave();
        Some(left.file)
    }

    fn lock(&self) -> MutexGuard<'_, RecentFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A large file as the books have it.
#[derive(Debug, Default)]
struct Account {
    bytes: u64,
    /// Records that name it.
    names: u32,
}

/// Which large files there are, and which records name them. The keeper's own.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: HashMap<u64, Account>,
    /// The file and the hash of the key.
    names: BTreeMap<RecordPosition, (u64, u64)>,
}

impl Ledger {
    /// A file has grown by `bytes`, or was found.
    pub fn grow(&mut self, id: u64, bytes: u64) {
        self.files.entry(id).or_default().bytes += bytes;
    }

    /// So many bytes were counted for a file that does not have them. How many are not counted any more.
    pub fn shrink(&mut self, id: u64, bytes: u64) -> u64 {
        let Some(account) = self.files.get_mut(&id) else {
            return 0;
        };
        let spare = bytes.min(account.bytes);
        account.bytes -= spare;
        spare
    }

    /// Whether the file is there.
    pub fn has(&self, id: u64) -> bool {
        self.files.contains_key(&id)
    }

    /// The record at `place` names the file.
    pub fn name(&mut self, place: RecordPosition, id: u64, key: u64) {
        if self.names.insert(place, (id, key)).is_none() {
            self.files.entry(id).or_default().names += 1;
        }
    }

    /// The record at `place` is gone. The file that nothing names any more, and its bytes.
    pub fn unname(&mut self, place: RecordPosition) -> Option<(u64, u64)> {
        let (id, _) = self.names.remove(&place)?;
        let account = self.files.get_mut(&id)?;
        account.names = account.names.saturating_sub(1);
        if account.names > 0 {
            return None;
        }
        self.files.remove(&id).map(|account| (id, account.bytes))
    }

    /// The bytes of a file that nothing names, which is forgotten.
    pub fn drop_unnamed(&mut self, id: u64) -> Option<u64> {
        let is_unnamed = self.files.get(&id).is_some_and(|file| file.names == 0);
        let account = is_unnamed.then(|| self.files.remove(&id)).flatten();
        account.map(|account| account.bytes)
    }

    /// Files below `first` that nothing names.
    pub fn unnamed_before(&self, first: u64) -> Vec<u64> {
        let all = self.files.iter();
        let unnamed = all.filter(|(id, file)| **id < first && file.names == 0);
        unnamed.map(|(id, _)| *id).collect()
    }

    /// Records of `segment` that name files, the oldest first, with the hashes of their keys.
    pub fn of_segment(&self, segment: u32) -> Vec<(RecordPosition, u64)> {
        let range = RecordPosition::new(segment, 0)..=RecordPosition::new(segment, u32::MAX);
        let all = self.names.range(range);
        all.map(|(place, (_, key))| (*place, *key)).collect()
    }

    /// Records that name the file, with the hashes of their keys.
    pub fn naming(&self, id: u64) -> Vec<(RecordPosition, u64)> {
        let all = self.names.iter().filter(|(_, (file, _))| *file == id);
        all.map(|(place, (_, key))| (*place, *key)).collect()
    }

    /// How many files there are.
    pub fn count(&self) -> u64 {
        self.files.len() as u64
    }
}
