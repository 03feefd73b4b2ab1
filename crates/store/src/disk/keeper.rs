//! The keeper: the one thread that writes segments and makes room.

mod append;
mod carrying;
mod content;
mod full;
mod labels;
mod room;
mod round;

use super::{
    DiskState, Doing,
    files::Ledger,
    found::FoundSegment,
    index::{RecordPosition, Spot},
    queue::{Next, Offer, Task},
    segment::Segment,
    statistics::count,
};
use crate::{Stored, purge::Standing};
use append::OpenSegment;
use room::SecondChance;
use round::Rounds;
use std::{
    fs::File,
    io::Error,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Removed files stay open at least this long, and are looked at this often. Whoever found a response in one begins to
/// read it within this time.
const LEAVING: Duration = Duration::from_secs(2);

/// The state of the thread.
pub(super) struct Keeper {
    pub shared: Arc<DiskState>,
    open: Option<OpenSegment>,
    /// The number of the next segment.
    next: u32,
    /// Bytes of all files together that have a name.
    pub total: u64,
    /// Whether the file system was found to be full before the tier was.
    is_tight: bool,
    pub ledger: Ledger,
    /// The segment that is evicted, and from which what is worth it is written again.
    evicted: Option<u32>,
    /// Files that were removed or are no longer kept open, and when that happened.
    leaving: Vec<(Instant, Leaving)>,
    rounds: Rounds,
}

/// A file that may still be read, also by those who found a response in it and have not begun. The last to close a
/// removed file gives its blocks back, which takes a while: that must be this thread and not a worker.
enum Leaving {
    Segment(Arc<Segment>),
    Large(Arc<File>),
}

impl Leaving {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Large(file), Self::Large(other)) => Arc::ptr_eq(file, other),
            (Self::Segment(segment), Self::Segment(other)) => Arc::ptr_eq(segment, other),
            _ => false,
        }
    }

    fn is_read(&self) -> bool {
        match self {
            Self::Segment(segment) => Arc::strong_count(segment) > 1,
            Self::Large(file) => Arc::strong_count(file) > 1,
        }
    }
}

/// Why a record was not written.
enum Refused {
    /// It is not worth writing, or there is no room; nothing is wrong.
    Unfit,
    /// The device failed.
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Keeper {
    /// Creates a keeper that has found and written nothing yet.
    pub fn new(shared: Arc<DiskState>) -> Self {
        Self {
            open: None,
            next: shared.first_segment,
            total: 0,
            is_tight: false,
            ledger: Ledger::default(),
            evicted: None,
            leaving: Vec::new(),
            rounds: Rounds::default(),
            shared,
        }
    }

    /// Notes a large file that was found.
    pub fn found_large(&mut self, id: u64, bytes: u64) {
        self.ledger.grow(id, bytes);
        self.total += bytes;
    }

    /// Loads `segments`, then carries out tasks until the tier is closed.
    pub fn run(mut self, segments: Vec<FoundSegment>) {
        self.load(segments);
        loop {
            let leaving = (!self.leaving.is_empty()).then_some(LEAVING);
            let patience = self.rounds.patience().min(leaving.unwrap_or(Duration::MAX));
            match self.shared.device.queue.next(patience) {
                Next::Task(task) => self.act(task),
                Next::Quiet => {}
                Next::Closed => break,
            }
            self.go_round();
            self.leaving
                .retain(|(since, left)| since.elapsed() < LEAVING || left.is_read());
            self.shared.total.store(self.taken(), Relaxed);
            self.shared.large.store(self.ledger.count(), Relaxed);
        }
        // The index of a sealed segment need not be rebuilt. If sealing fails, it will be.
        if let Err(error) = self.seal() {
            self.failed(&error);
        }
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Store(offer) => self.take(&offer),
            Task::Damaged(key, place) => {
                if let Some(spot) = self.shared.index.at(key, place) {
                    self.shared.forget(spot);
                }
            }
            Task::Sound(key, place) => self.shared.index.mark_sound(key, place),
            Task::Used(key, place) => self.shared.index.mark_used(key, place),
            Task::LargeDamaged(id) => {
                self.close_large(id);
                for (place, key) in self.ledger.naming(id) {
                    let forgotten = self.shared.index.remove(key, place);
                    self.settle(forgotten);
                }
            }
            Task::Forgotten(spot) => self.settle([spot]),
            Task::Survey(question) => self.survey(question),
            Task::Room(id, bytes, answer) => {
                let has_room = self.make_room(bytes);
                if has_room {
                    self.ledger.grow(id, bytes);
                    self.total += bytes;
                }
                // The caller may have gone with the tier.
                let _ = answer.send(has_room);
            }
            Task::Spare(id, bytes) => {
                self.total = self.total.saturating_sub(self.ledger.shrink(id, bytes));
            }
            Task::LetGo(file) => self.leaves(Leaving::Large(file)),
            Task::Full => self.fill_up(),
            Task::OverQuota => {
                self.evict(SecondChance::Refused);
            }
            Task::Unnamed(id) => {
                if let Some(bytes) = self.ledger.drop_unnamed(id) {
                    self.remove_large(id, bytes);
                }
            }
            Task::Flush(answer) => {
                let _ = answer.send(());
            }
        }
    }

    /// Stores what was offered, unless it was forgotten meanwhile.
    fn take(&mut self, offer: &Offer) {
        let Offer { key, stored, .. } = offer;
        if !offer.is_forgotten() {
            self.store(key, stored);
        }
        // Asked again: it may have been forgotten while it was written.
        if offer.is_forgotten() {
            self.forget(key, stored);
        }
    }

    /// Forgets `stored` and older versions of it. A marker in their place keeps those that are on disk from being found
    /// after a restart, unless a purge does.
    fn forget(&mut self, key: &[u8], stored: &Stored) {
        if !self.shared.log.refuses(key, None, stored.checked()) {
            self.store(key, &stored.given_up(self.shared.log.head()));
        }
        let (hash, variant) = (self.shared.hash(key), Spot::variant(stored));
        self.shared.forget_versions(hash, variant);
    }

    fn store(&mut self, key: &[u8], stored: &Stored) {
        match self.write(key, stored) {
            Ok(()) => {
                count(&self.shared.device.counts.writes);
                self.shared.device.health.worked(Doing::Writing);
            }
            Err(refused) => {
                count(&self.shared.device.counts.refused);
                if let Refused::Failed(error) = refused {
                    self.failed(&error);
                }
                self.withdraw(key, stored);
            }
        }
    }

    /// Withdraws what `stored`, which was not written, would have replaced: it is no longer answered with, here and in
    /// memory, also after a restart. A purge that covers `stored` by its URL covers that too.
    fn withdraw(&self, key: &[u8], stored: &Stored) {
        // What was given up has left the index already, but not the disk.
        let may_be_there = stored.is_given_up() || self.shared.index.knows(self.shared.hash(key));
        if may_be_there && !self.shared.log.refuses(key, None, stored.checked()) {
            self.shared.purge(key);
        }
    }

    fn failed(&self, error: &Error) {
        let path = &self.shared.device.path;
        self.shared.device.failed(Doing::Writing, path, error);
    }

    fn write(&mut self, key: &[u8], stored: &Stored) -> Result<(), Refused> {
        let checked = stored.checked();
        if !self.may_write(self.shared.log.standing(key, stored), checked) {
            return Err(Refused::Unfit);
        }
        let content = self.content(stored)?;
        self.append(key, stored, &content, None)
    }

    /// Whether a response with this `standing`, checked up to `checked`, may be written.
    fn may_write(&self, standing: Standing, checked: u64) -> bool {
        match standing {
            Standing::Good => true,
            // A sweep that gives up what was purged softly may have passed already. Then the log may forget why the
            // response is stale.
            Standing::Stale { .. } | Standing::Unsure => {
                checked >= self.shared.swept.softly.load(Relaxed)
                    && !self.rounds.gives_up_softly()
                    && !self.shared.log.is_crowded()
            }
            Standing::Gone => false,
        }
    }

    /// Keeps `left` open for a while yet.
    fn leaves(&mut self, left: Leaving) {
        self.leaving.retain(|(_, other)| !other.is_same(&left));
        self.leaving.push((Instant::now(), left));
    }

    /// Adds a record to the index, and forgets those that it supersedes. `from`: where it was before, if it is moved.
    fn enter(&mut self, spot: Spot, from: Option<RecordPosition>) {
        let index = &self.shared.index;
        let forgotten = match from {
            None => index.insert(spot),
            Some(from) => vec![index.replace(from, spot)],
        };
        self.settle(forgotten);
    }

    /// Settles the accounts for what was removed from the index.
    pub fn settle(&mut self, forgotten: impl IntoIterator<Item = Spot>) {
        for spot in forgotten {
            self.uncount(&spot);
            if spot.is_large() {
                self.unname(spot.place);
            }
        }
    }
}
