//! The log of purges: its state, and what it tells of itself.

mod entering;
mod lookup;
mod place;
mod trust;

use super::{
    Carried, Journal, Purge, Statistics, Tags,
    counts::Counts,
    positions::Positions,
    recent::{Cursor, Recent, Since},
    standing::TrustedUntil,
    table::Table,
};
use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// The log. Shared by all workers and tiers.
#[derive(Debug, Default)]
pub struct Log {
    /// The number of the last purge; written with each purge.
    head: AtomicU64,
    /// What was checked up to here needs no look: the head, or one more while nothing is to be trusted, what is fetched in that
    /// time included. Read on each hit.
    bar: AtomicU64,
    /// Whether purges elsewhere may have been missed.
    unsure: AtomicBool,
    /// From then on purges elsewhere may have been missed. Read on each hit.
    trusted_until: TrustedUntil,
    table: RwLock<Table>,
    positions: Mutex<Positions>,
    /// See [`take_unsent`](Log::take_unsent).
    unsent: Mutex<Vec<(u64, Purge)>>,
    tags: Tags,
    carried: Carried,
    counts: Counts,
    recent: Recent,
    journal: OnceLock<Box<dyn Journal>>,
    /// Whether entries stand where the clock says.
    clocked: AtomicBool,
    /// See [`come_after`](Log::come_after).
    placed: AtomicU64,
}

impl Log {
    /// The number to note when a fetch begins.
    pub fn head(&self) -> u64 {
        self.head.load(Acquire)
    }

    /// The tags of stored responses.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// The tags of what is kept below memory on this node.
    pub fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Entries from now on are also given to `journal`. The first one given stays.
    pub fn keep_in(&self, journal: Box<dyn Journal>) {
        let _ = self.journal.set(journal);
    }

    /// Forgets purges up to `sequence`: everything kept has been checked beyond it, and what was not counts as purged. The last
    /// entry of the shared log stays, so that a restart knows where to read on, and so does what was
    /// [applied ahead](Self::apply_ahead): it is held against what comes from elsewhere.
    pub fn retire(&self, sequence: u64) {
        let sequence = self.positions().spare(sequence);
        self.write().retire(sequence);
        if let Some(journal) = self.journal.get() {
            journal.retire(sequence);
        }
    }

    /// Forgets expressions that everything kept on this node was held against, up to the number `hard`, and softly up to `soft`, so
    /// that there is room for others; `keep` of them stay for what comes from elsewhere. What was purged stays so over a restart.
    pub fn release_patterns(&self, hard: u64, soft: u64, keep: usize) {
        let released = self.write().release(hard, soft, keep);
        if let (Some(over), Some(journal)) = (released.over, self.journal.get()) {
            journal.retire(self.positions().spare(over));
        }
    }

    /// Whether expressions take so much of their room that what they purged softly is to be given up on disk: what is left there would
    /// have to be held against them for as long as it lies there.
    pub fn is_crowded(&self) -> bool {
        self.read().is_crowded()
    }

    /// Whether an expression is forgotten that what was checked up to `checked` may not have been held against, unless something
    /// else tells that it was.
    pub fn has_released(&self, checked: u64) -> bool {
        checked < self.read().released
    }

    /// What took effect on this node after `after`, at most so many of it; where nothing is said, only where the log stands. For
    /// those who keep pages elsewhere.
    pub fn since(&self, after: Option<Cursor>, most: usize) -> Since {
        self.recent.since(after, most)
    }

    /// As [`since`](Self::since), and waits until there is something to tell.
    pub async fn since_wait(&self, after: Cursor, most: usize) -> Since {
        self.recent.wait(after, most).await
    }

    /// Counts stored responses that purges touched, as somebody was told.
    pub(crate) fn count_touched(&self, count: u64) {
        self.counts.touched(count);
    }

    /// Counts stored responses that the sweep has dropped.
    pub(crate) fn count_swept(&self, count: u64) {
        self.counts.swept(count);
    }

    /// A snapshot for metrics.
    pub fn statistics(&self) -> Statistics {
        let (names, patterns) = self.remembered();
        Statistics {
            sequence: self.head(),
            names: names as u64,
            patterns: patterns as u64,
            is_unsure: self.is_unsure(),
            ..self.counts.read()
        }
    }

    /// Names and expressions remembered.
    pub fn remembered(&self) -> (usize, usize) {
        let table = self.read();
        (table.names(), table.patterns())
    }

    /// Under the table's lock. Lookups may ask for a look too early, never too late.
    fn advance(&self, head: u64) {
        let unsure = u64::from(self.unsure.load(Relaxed));
        self.bar.store(head + unsure, Release);
        self.head.store(head, Release);
    }

    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn unsent(&self) -> MutexGuard<'_, Vec<(u64, Purge)>> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}
