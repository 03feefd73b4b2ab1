//! The log of purges.

use super::{
    Address, Marks, Purge, Remembered, Statistics, Tags, TooMany, What,
    counts::Counts,
    positions::Positions,
    recent::{Cursor, Recent, Since},
    standing::{Applied, Standing, TrustedUntil},
    table::{self, Subject, Table},
};
use crate::Stored;
use http::header;
use rules::time::Time;
use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

/// Where an entry stands in the log that nodes share; totally ordered, the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64, pub u64);

/// One entry of the log, as it is kept on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number on this node.
    pub sequence: u64,
    /// When it took effect.
    pub at: Time,
    /// Where it stands in the shared log, if it came from there.
    pub position: Option<Position>,
    /// What was purged.
    pub purge: Purge,
}

/// What keeps the log over a restart. Called under the log's lock, in order: it must not wait.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Queues an entry to be written.
    fn append(&self, entry: &Entry);
    /// Everything up to `sequence` may be forgotten.
    fn retire(&self, sequence: u64);
}

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

    /// What purges say of `stored`, kept under `key`. One comparison where nothing was purged since the last look.
    pub fn standing(&self, key: &[u8], stored: &Stored) -> Standing {
        let checked = stored.checked();
        if checked >= self.bar.load(Acquire) {
            return Standing::Good;
        }
        let content_type = || content_type(stored);
        let subject = subject(key, stored, &content_type);
        let table = self.read();
        let head = self.head();
        if checked < table.floor {
            return Standing::Gone;
        }
        let verdict = table.test(&subject, checked);
        drop(table);
        if verdict.gone {
            return Standing::Gone;
        }
        if self.unsure.load(Acquire) {
            return Standing::Unsure;
        }
        if let Some(at) = verdict.stale_since {
            return Standing::Stale {
                since: at,
                checked: head,
            };
        }
        stored.check(checked, head);
        Standing::Good
    }

    /// Whether what a fetch that began at `began` brings for `key` was purged meanwhile, so that it need not be stored.
    pub fn refuses(&self, key: &[u8], marks: Option<&Marks>, began: u64) -> bool {
        if began >= self.head() {
            return false;
        }
        let subject = Subject {
            address: Address::of(key),
            marks,
            // A purge by content type is found at lookup.
            content_type: &String::new,
        };
        let table = self.read();
        began < table.floor || table.test(&subject, began).gone
    }

    /// Whether `purge` covers `stored`, kept under `key`.
    pub fn covers(purge: &Purge, key: &[u8], stored: &Stored) -> bool {
        table::covers(purge, &subject(key, stored, &|| content_type(stored)))
    }

    /// Purges elsewhere may have been missed from now on: what is kept, and what is fetched until they are known again, is not
    /// used before the origin confirms it.
    pub fn distrust(&self) {
        let table = self.write();
        self.unsure.store(true, Release);
        self.advance(self.head());
        drop(table);
    }

    /// All purges elsewhere are known that were acknowledged before `until`, by the clock of the wall.
    pub fn trust_until(&self, until: Time) {
        self.trusted_until.set(until);
    }

    /// To be called before anything kept is used at `now`. A process that was stopped, or a machine that was suspended, has
    /// heard of nothing meanwhile, and what would [say so](Self::distrust) has slept as well.
    pub fn wake(&self, now: Time) {
        if self.trusted_until.is_over(now) && !self.is_unsure() {
            self.distrust();
        }
    }

    /// All purges elsewhere are known again.
    pub fn trust(&self) {
        let table = self.write();
        self.unsure.store(false, Release);
        self.advance(self.head());
        drop(table);
    }

    /// Purges elsewhere were missed for good: everything kept, here and in lower tiers, counts as purged, and so does what is
    /// being fetched. Entries of the shared log are unknown again.
    pub fn forget(&self) {
        let mut table = self.write();
        let sequence = self.head() + 1;
        table.forget(sequence);
        *self.positions() = Positions::default();
        if let Some(journal) = self.journal.get() {
            journal.retire(sequence);
        }
        self.recent.missed(sequence);
        self.advance(sequence);
    }

    /// Whether purges elsewhere may have been missed.
    pub fn is_unsure(&self) -> bool {
        self.unsure.load(Acquire)
    }

    /// The shared log is read from `position` on: what came before it is not known.
    pub fn begin_at(&self, position: Position) {
        let table = self.write();
        let mut positions = self.positions();
        if !positions.have_begun() {
            // A number of its own: a fetch that began before this moment may have missed entries before `position`.
            let head = self.head() + 1;
            positions.begin(position, head);
            self.advance(head);
        }
        drop(table);
    }

    /// For a tier that nodes share without a log that they share: entries from now on stand where the clock says, milliseconds
    /// since the Unix epoch, and so do responses, by when their fetch began ([`sequence_at`](Self::sequence_at)). What was
    /// purged before `now` is known only where a journal kept it.
    pub fn place_by_clock(&self, now: Time) {
        self.clocked.store(true, Relaxed);
        if self.position().is_none() {
            // Also written to the journal, so that after a restart it is known from when on nothing is missing.
            self.apply(Purge::nothing(), now, None);
        }
    }

    /// The position of the last entry applied from the shared log, or where reading begins.
    pub fn position(&self) -> Option<Position> {
        self.positions().last().map(|(position, _)| position)
    }

    /// The last position of the shared log that was known on this node when its own log stood at `sequence`; the reverse of
    /// [`sequence_at`](Self::sequence_at). `None`: too long ago to know, or before the shared log was read.
    pub fn position_at(&self, sequence: u64) -> Option<Position> {
        self.positions().at(sequence)
    }

    /// The number on this node that corresponds to `position`: whoever knew the shared log up to there knew every purge up to
    /// this number. `None`: too long ago to know.
    pub fn sequence_at(&self, position: Position) -> Option<u64> {
        self.positions().number(position)
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

    /// Where an entry of this moment stands; after all others even where the clock went back.
    fn by_clock(&self, at: Time) -> Option<Position> {
        let clocked = self.clocked.load(Relaxed);
        clocked.then(|| {
            let last = self.position().unwrap_or_default();
            let next = Position(last.0, last.1.saturating_add(1));
            next.max(Position(at.as_millis(), 0))
        })
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

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn subject<'a>(
    key: &'a [u8],
    stored: &'a Stored,
    content_type: &'a dyn Fn() -> String,
) -> Subject<'a> {
    Subject {
        address: Address::of(key),
        marks: stored.marks.as_deref(),
        content_type,
    }
}

fn content_type(stored: &Stored) -> String {
    let value = stored.fields.get_bytes(&header::CONTENT_TYPE);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}
