//! Large files: those that are open, and the records that name each.

use super::{index::RecordPosition, large::Large};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs::File,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// At most this many files stay open that nobody reads.
const MOST_OPEN: usize = 256;

/// Large files that were lately asked for.
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
    /// The file of that number; `None` if it is not kept open.
    pub fn get(&self, id: u64) -> Option<Arc<Large>> {
        let open = self.lock();
        open.files.get(&id).map(|open| open.large.clone())
    }

    /// Keeps `file`, the file of `large`, open. Returns the body whose file is kept, which another thread may have
    /// opened before, and the file that is no longer kept open because of this call.
    pub fn put(&self, large: Arc<Large>, file: Arc<File>) -> (Arc<Large>, Option<Arc<File>>) {
        let mut open = self.lock();
        if let Some(kept) = open.files.get(&large.id) {
            let other = (!Arc::ptr_eq(&kept.file, &file)).then_some(file);
            return (kept.large.clone(), other);
        }
        let oldest = (open.order.len() >= MOST_OPEN)
            .then(|| open.order.pop_front())
            .flatten();
        let let_go = oldest.and_then(|oldest| open.files.remove(&oldest));
        open.order.push_back(large.id);
        let kept = OpenFile {
            large: large.clone(),
            file,
        };
        open.files.insert(large.id, kept);
        (large, let_go.map(|open| open.file))
    }

    /// Stops keeping a file open, because it is evicted. Those who read it already can go on.
    pub fn remove(&self, id: u64) -> Option<Arc<File>> {
        let mut open = self.lock();
        let let_go = open.files.remove(&id)?;
        open.order.retain(|other| *other != id);
        let_go.large.leave();
        Some(let_go.file)
    }

    fn lock(&self) -> MutexGuard<'_, RecentFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the ledger knows of a large file.
#[derive(Debug, Default)]
struct Account {
    bytes: u64,
    /// Number of records that name it.
    names: u32,
}

/// Which large files there are, and which records name them. Only the keeper has it.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: HashMap<u64, Account>,
    /// The file that a record names, and the hash of the record's key.
    names: BTreeMap<RecordPosition, (u64, u64)>,
}

impl Ledger {
    /// Notes that a file has grown by `bytes`, or was found with that length.
    pub fn grow(&mut self, id: u64, bytes: u64) {
        self.files.entry(id).or_default().bytes += bytes;
    }

    /// Takes off up to `bytes` that were counted for a file and are not in it. Returns how many were taken off.
    pub fn shrink(&mut self, id: u64, bytes: u64) -> u64 {
        let Some(account) = self.files.get_mut(&id) else {
            return 0;
        };
        let spare = bytes.min(account.bytes);
        account.bytes -= spare;
        spare
    }

    /// Whether the file is known.
    pub fn has(&self, id: u64) -> bool {
        self.files.contains_key(&id)
    }

    /// Notes that the record at `place` names the file.
    pub fn name(&mut self, place: RecordPosition, id: u64, key: u64) {
        if self.names.insert(place, (id, key)).is_none() {
            self.files.entry(id).or_default().names += 1;
        }
    }

    /// Notes that the record at `place` is gone. Returns the file and its bytes if no other record names it.
    pub fn unname(&mut self, place: RecordPosition) -> Option<(u64, u64)> {
        let (id, _) = self.names.remove(&place)?;
        let account = self.files.get_mut(&id)?;
        account.names = account.names.saturating_sub(1);
        if account.names > 0 {
            return None;
        }
        self.files.remove(&id).map(|account| (id, account.bytes))
    }

    /// Forgets the file if no record names it. Returns its bytes.
    pub fn drop_unnamed(&mut self, id: u64) -> Option<u64> {
        let is_unnamed = self.files.get(&id).is_some_and(|file| file.names == 0);
        let account = is_unnamed.then(|| self.files.remove(&id)).flatten();
        account.map(|account| account.bytes)
    }

    /// Files with numbers below `first` that no record names.
    pub fn unnamed_before(&self, first: u64) -> Vec<u64> {
        let all = self.files.iter();
        let unnamed = all.filter(|(id, file)| **id < first && file.names == 0);
        unnamed.map(|(id, _)| *id).collect()
    }

    /// The records of `segment` that name files, the oldest first, with the hashes of their keys.
    pub fn of_segment(&self, segment: u32) -> Vec<(RecordPosition, u64)> {
        let range = RecordPosition::new(segment, 0)..=RecordPosition::new(segment, u32::MAX);
        let all = self.names.range(range);
        all.map(|(place, (_, key))| (*place, *key)).collect()
    }

    /// The records that name the file, with the hashes of their keys.
    pub fn naming(&self, id: u64) -> Vec<(RecordPosition, u64)> {
        let all = self.names.iter().filter(|(_, (file, _))| *file == id);
        all.map(|(place, (_, key))| (*place, *key)).collect()
    }

    /// The number of files.
    pub fn count(&self) -> u64 {
        self.files.len() as u64
    }
}
