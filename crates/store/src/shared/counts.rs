//! What the tier counts and reports.

use super::remote::{Error, Kind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the tier has done since it was made, in numbers, and whether it is in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Lookups that found something.
    pub hits: u64,
    /// Lookups that found nothing.
    pub misses: u64,
    /// Stored responses written.
    pub stored: u64,
    /// Stored responses that were offered and not written: too large, worth too little, too many at once, or the shared
    /// log is not known.
    pub passed_over: u64,
    /// Leases taken: fetches on behalf of all nodes.
    pub leases: u64,
    /// Waits for what another node fetches.
    pub waits: u64,
    /// Waits that were in vain.
    pub waits_in_vain: u64,
    /// Questions that were not asked because the breaker was open.
    pub not_asked: u64,
    /// Values that are not what was written; dropped.
    pub malformed: u64,
    /// Bodies that were not read, because memory had no room for them.
    pub no_room: u64,
    /// Questions that failed, by kind.
    pub errors: Vec<(Kind, u64)>,
    /// How often the breaker has opened.
    pub openings: u64,
    /// Whether the breaker is open.
    pub open: bool,
}

/// A change of the server's state, worth one line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is not asked any more, except for a probe now and then. Holds the last of its failures.
    Down(Error),
    /// It answers again.
    Up,
    /// One of several servers is left alone for a while, and what it has counts as absent. Holds its last failure.
    OneDown(Error),
    /// All of several servers answer again.
    AllUp,
    /// It answers, but takes no writes.
    TakesNoWrites(Error),
    /// Something else is under a name that is ours. Reported once.
    HoldsSomethingElse(Error),
    /// It takes writes again.
    TakesWrites,
}

/// Called with each event, on a worker's thread: it must not wait.
pub type Hook = Box<dyn Fn(Event) + Send + Sync>;

/// The counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) hits: Count,
    pub(super) misses: Count,
    pub(super) stored: Count,
    pub(super) passed_over: Count,
    pub(super) leases: Count,
    pub(super) waits: Count,
    pub(super) waits_in_vain: Count,
    pub(super) not_asked: Count,
    pub(super) malformed: Count,
    pub(super) no_room: Count,
    pub(super) openings: Count,
    errors: [Count; Kind::ALL.len()],
}

/// One counter.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn up(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Counts {
    pub(super) fn error(&self, kind: Kind) {
        let mut all = Kind::ALL.iter().zip(&self.errors);
        if let Some((_, count)) = all.find(|(known, _)| **known == kind) {
            count.up();
        }
    }

    pub(super) fn statistics(&self, open: bool) -> Statistics {
        let errors = Kind::ALL.iter().zip(&self.errors);
        Statistics {
            hits: self.hits.get(),
            misses: self.misses.get(),
            stored: self.stored.get(),
            passed_over: self.passed_over.get(),
            leases: self.leases.get(),
            waits: self.waits.get(),
            waits_in_vain: self.waits_in_vain.get(),
            not_asked: self.not_asked.get(),
            malformed: self.malformed.get(),
            no_room: self.no_room.get(),
            errors: errors.map(|(kind, count)| (*kind, count.get())).collect(),
            openings: self.openings.get(),
            open,
        }
    }
}
