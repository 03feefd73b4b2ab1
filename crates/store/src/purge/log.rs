//! The log of purges: its state, and what it tells about itself.

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

/// The log of purges. Shared by all workers and tiers.
#[derive(Debug, Default)]
pub struct Log {
    /// The number of the last purge, written with each purge.
    head: AtomicU64,
    /// What was checked up to here needs no look. It is the head, or one more while nothing is trusted, which includes
    /// what is fetched in that time. Read on each hit.
    bar: AtomicU64,
    /// Whether purges on other nodes may have been missed.
    unsure: AtomicBool,
    /// From this time on, purges on other nodes may have been missed. Read on each hit.
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
    /// Whether entries get their positions from the clock.
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

    /// From now on, also gives entries to `journal`. Only the first call has an effect.
    pub fn keep_in(&self, journal: Box<dyn Journal>) {
        let _ = self.journal.set(journal);
    }

    /// Forgets purges up to `sequence`: everything kept has been checked beyond it, and what has not counts as purged.
    ///
    /// The last entry of the shared log stays, so that a restart knows where to read on. What was
    /// [applied ahead](Self::apply_ahead) also stays: it is compared with what comes from other nodes.
    pub fn retire(&self, sequence: u64) {
        let sequence = self.positions().spare(sequence);
        self.write().retire(sequence);
        if let Some(journal) = self.journal.get() {
            journal.retire(sequence);
        }
    }

    /// Forgets expressions that everything kept on this node was compared with, hard ones up to `hard` and soft ones up
    /// to `soft`, so that there is room for others. `keep` of them stay for what comes from other nodes. What was
    /// purged stays so over a restart.
    pub fn release_patterns(&self, hard: u64, soft: u64, keep: usize) {
        let released = self.write().release(hard, soft, keep);
        if let (Some(over), Some(journal)) = (released.over, self.journal.get()) {
            journal.retire(self.positions().spare(over));
        }
    }

    /// Whether expressions take so much of their room that the disk should give up what they softly purged: as long as
    /// that is there, it would have to be compared with them.
    pub fn is_crowded(&self) -> bool {
        self.read().is_crowded()
    }

    /// Whether an expression is forgotten with which something checked up to `checked` may not have been compared,
    /// unless something else shows that it was.
    pub fn has_released(&self, checked: u64) -> bool {
        checked < self.read().released
    }

    /// Returns at most `most` purges that took effect on this node after `after`. If that is `None`, only the log's
    /// current cursor. For those who keep pages elsewhere.
    pub fn since(&self, after: Option<Cursor>, most: usize) -> Since {
        self.recent.since(after, most)
    }

    /// Like [`since`](Self::since), but waits until there is something to report.
    pub async fn since_wait(&self, after: Cursor, most: usize) -> Since {
        self.recent.wait(after, most).await
    }

    /// Counts stored responses that purges touched, as reported to the caller.
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

    /// How many names and expressions are remembered.
    pub fn remembered(&self) -> (usize, usize) {
        let table = self.read();
        (table.names(), table.patterns())
    }

    /// The caller holds the table's lock. A lookup may look once too often, but never miss a purge.
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
