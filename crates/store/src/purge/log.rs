//! The log of purges.

mod lookup;
mod place;
mod trust;

use super::{
    Entry, Journal, Position, Purge, Remembered, Statistics, Tags, TooMany, What,
    counts::Counts,
    positions::Positions,
    recent::{Cursor, Recent, Since},
    standing::{Applied, TrustedUntil},
    table::Table,
};
use rules::time::Time;
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
    counts: Counts,
    recent: Recent,
    journal: OnceLock<Box<dyn Journal>>,
    /// Whether entries stand where the clock says.
    clocked: AtomicBool,
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

    /// Entries from now on are also given to `journal`. The first one given stays.
    pub fn keep_in(&self, journal: Box<dyn Journal>) {
        let _ = self.journal.set(journal);
    }

    /// Takes back what a journal kept; before anything else is appended.
    pub fn restore(&self, remembered: Remembered) {
        *self.unsent() = remembered.unsent();
        let Remembered {
            entries,
            floor,
            head,
            position,
        } = remembered;
        let mut table = self.write();
        table.floor = floor;
        if let Some(position) = position {
            self.positions().begin(position, floor);
        }
        self.recent.kept(floor, self.head().max(head));
        for entry in entries {
            table.add(&entry.purge, entry.sequence, entry.at);
            self.recent.add(entry.sequence, &entry.purge);
            if let Some(position) = entry.position {
                self.positions().note(position, entry.sequence);
            }
        }
        self.advance(self.head().max(head));
    }

    /// What took effect here before a restart and may not stand in the shared log, with its numbers: to be sent now. Until
    /// [copies](Self::apply_copy) have come back it is as if it had been [applied ahead](Self::apply_ahead). Asked once.
    pub fn take_unsent(&self) -> Vec<(u64, Purge)> {
        let unsent = std::mem::take(&mut *self.unsent());
        let mut positions = self.positions();
        for (sequence, _) in &unsent {
            positions.go_ahead(*sequence);
        }
        unsent
    }

    /// Whether `purges` can be taken now, all of them.
    ///
    /// # Errors
    /// Too many regular expressions are still waiting for the sweep.
    pub fn admits(&self, purges: &[Purge]) -> Result<(), TooMany> {
        self.read().room_for(purges)
    }

    /// Purges: when this returns, no lookup that begins later finds what is covered. `position`: where it stands in the shared
    /// log, if it comes from there.
    pub fn apply(&self, purge: Purge, at: Time, position: Option<Position>) -> Applied {
        self.enter(purge, at, position, false)
    }

    /// As [`apply`](Self::apply), for what takes effect here before it stands in the shared log. Until its copy has
    /// [come back](Self::apply_copy), no position of the shared log is taken for later: other nodes may not know of it.
    pub fn apply_ahead(&self, purge: Purge, at: Time) -> Applied {
        self.enter(purge, at, None, true)
    }

    /// As [`apply`](Self::apply), for the copy of what was [applied ahead](Self::apply_ahead) as `sequence`. `None` where it
    /// says nothing new: what was fetched since stays.
    pub fn apply_copy(
        &self,
        purge: Purge,
        at: Time,
        position: Position,
        sequence: u64,
    ) -> Option<Applied> {
        // What stands for too many invalidations is more than was applied.
        let is_copy = purge.what != What::Everything;
        let applied = if is_copy && self.positions().is_next(sequence) {
            let table = self.write();
            let number = self.head.load(Relaxed) + 1;
            self.positions().note(position, sequence);
            // With its position, so that a restart reads on from there.
            self.keep(number, at, Some(position), purge);
            self.advance(number);
            drop(table);
            None
        } else {
            Some(self.apply(purge, at, Some(position)))
        };
        self.positions().come_back(sequence);
        applied
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

    fn enter(&self, purge: Purge, at: Time, position: Option<Position>, ahead: bool) -> Applied {
        let mut table = self.write();
        let position = position.or_else(|| self.by_clock(at));
        let sequence = self.head.load(Relaxed) + 1;
        let floor = table.floor;
        table.add(&purge, sequence, at);
        if let Some(journal) = self.journal.get()
            && table.floor > floor
        {
            journal.retire(table.floor);
        }
        self.counts.applied(&purge);
        let carried = match &purge.what {
            What::Tags(tags) => tags
                .iter()
                .map(|tag| self.tags.purged(tag, sequence, purge.soft))
                .sum(),
            _ => 0,
        };
        if let Some(position) = position {
            self.positions().note(position, sequence);
        } else if ahead {
            self.positions().go_ahead(sequence);
        }
        self.recent.add(sequence, &purge);
        self.keep(sequence, at, position, purge);
        self.advance(sequence);
        Applied { sequence, carried }
    }

    /// Gives an entry to the journal.
    fn keep(&self, sequence: u64, at: Time, position: Option<Position>, purge: Purge) {
        if let Some(journal) = self.journal.get() {
            journal.append(&Entry {
                sequence,
                at,
                position,
                purge,
            });
        }
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

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}
