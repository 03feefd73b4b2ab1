//! The memory tier: cache key → variants, weighed in bytes. Eviction keeps what is asked for often.

mod amend;
mod cache;
mod capacity;
mod eviction;
mod key;
mod leaving;
mod listing;
mod purging;
mod putting;
mod room;
#[cfg(test)]
mod tests;
mod withdrawals;

use crate::{
    Body, Budget, Stored, Variants,
    disk::Disk,
    purge::{Log, Marks, Standing},
};
use capacity::Steps;
use eviction::{Entries, EvictionHook, EvictionState, Weigh};
use leaving::Leaving;
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};
use withdrawals::Withdrawals;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use cache::largest_body;
pub(crate) use cache::{entries, entry_weight, most_stored};
pub use purging::{Purged, Swept};
pub use room::Statistics;

/// The number of locks for writers. More would only make it rarer that two keys share one.
const STRIPES: usize = 1024;

/// Held by who writes to one of its keys.
type Stripe = Mutex<Withdrawals>;

/// The memory tier. Shared by all workers.
///
/// Lock order: a stripe, then `resizing`, then the cache's own shard. Readers take only the shard's shared lock.
#[derive(Debug)]
pub struct Memory {
    entries: Entries,
    limit: u64,
    /// The steps in which `capacity` is lowered.
    steps: Steps,
    /// The capacity last given to `entries`, lowered by what is in flight.
    capacity: AtomicU64,
    /// Held while `entries` is given a new capacity.
    resizing: Mutex<()>,
    budget: Arc<Budget>,
    stripes: Box<[Stripe]>,
    /// Secret, so that nobody can make keys that all fall on one stripe.
    seed: u64,
    evictions: Arc<EvictionState>,
    log: Arc<Log>,
    /// How many tickets have been drawn.
    tickets: AtomicU64,
    /// Whether any key has ever held more than a URL.
    long_keys: AtomicBool,
}

/// Drawn when a fetch begins: what the fetch brings is refused if it was purged meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The head of the log of purges at that moment.
    pub log_at: u64,
    /// The ticket's own number. A fetch that begins later has a greater one, whatever the clock says.
    pub number: u64,
}

/// Why a response was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It was purged after its fetch began.
    Purged,
    /// A fetch that began later has already brought a response of the same variant, or has withdrawn it.
    Superseded,
    /// There is no room for it, even without everything else under its key.
    TooLarge,
}

impl Memory {
    /// Makes a tier that holds at most `limit` bytes, in flight and stored together. `log` says what was purged.
    pub fn new(limit: u64, log: Arc<Log>) -> Self {
        let budget = Budget::new(limit / 2);
        let evictions = Arc::new(EvictionState::new(Leaving::new(&budget)));
        let entries = entries(limit, 1, Weigh, EvictionHook(evictions.clone()));
        Self {
            limit,
            steps: Steps::of(limit, entries.num_shards() as u64),
            capacity: AtomicU64::new(entries.capacity()),
            entries,
            resizing: Mutex::new(()),
            budget,
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            seed: RandomState::new().hash_one(()),
            evictions,
            log,
            tickets: AtomicU64::new(0),
            long_keys: AtomicBool::new(false),
        }
    }

    /// Returns the variants stored under `key`. On the path of a hit: one shared lock, one reference count.
    pub fn find(&self, key: &[u8]) -> Option<Variants> {
        let found = self.entries.get(key)?;
        if let Variants::One(stored) = &found {
            stored.draw_near();
        }
        Some(found)
    }

    /// Like [`find`](Self::find), but does not count as a use.
    pub fn peek(&self, key: &[u8]) -> Option<Variants> {
        self.entries.peek(key)
    }

    /// Sends evicted responses to `disk` if they were asked for more than once and it does not have them. Only the
    /// first call has an effect.
    pub fn demote_to(&self, disk: Arc<Disk>) {
        let _ = self.evictions.disk.set(disk);
    }

    /// The log of purges.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Draws the ticket of a fetch. To be called when the fetch begins.
    pub fn begin(&self) -> Ticket {
        Ticket {
            log_at: self.log.head(),
            number: self.tickets.fetch_add(1, Relaxed) + 1,
        }
    }

    /// Stores a response, and what was made of its content if that is held, beside the other variants of its key.
    /// Returns the response of the same variant that it replaces.
    ///
    /// At most `most` variants are kept, and no more than there is room for.
    ///
    /// # Errors
    /// The response is too large, was purged meanwhile, or a fetch that began later was faster (RFC 9111 section 4:
    /// "MUST use the most recent one"), if only to [withdraw](Self::withdraw) what there was. The order of the requests
    /// decides which is later: a cache behind us may answer a reload with an older `Date`.
    pub fn insert(
        &self,
        key: &[u8],
        ticket: Ticket,
        stored: Arc<Stored>,
        most: usize,
    ) -> Result<Option<Arc<Stored>>, Refused> {
        let marks = stored.marks.as_deref();
        if self.log.refuses(key, marks, ticket.log_at) {
            return Err(Refused::Purged);
        }
        let stripe = self.hold(key);
        let id = stored.id();
        if stripe.overtake(self.hash(key), &stored, ticket.number) {
            return Err(Refused::Superseded);
        }
        let (variants, replaced) = match self.entries.peek(key) {
            Some(old) if old.supersedes(&stored) => return Err(Refused::Superseded),
            Some(old) => {
                let replaced = old.of_variant(&stored).cloned();
                (old.with(old.up_to_date(&stored), most), replaced)
            }
            None => (Some(Variants::One(stored)), None),
        };
        let is_put = self.put(key, variants, Some(id));
        is_put.then_some(replaced).ok_or(Refused::TooLarge)
    }

    /// Replaces `old`, or what [stands for](Stored::stands_for) it, by `new`, which the origin's confirmation has made
    /// of it, with what was made of its content meanwhile. Returns false if that is not here any more (evicted,
    /// invalidated, replaced).
    pub fn freshen(&self, key: &[u8], old: &Stored, new: &Arc<Stored>) -> bool {
        self.change(key, Some(new.id()), |held| {
            let id = held.standing_for(old)?.id();
            held.replaced(id, &held.up_to_date(new))
        })
    }

    /// Replaces `old` itself by `new`, and not another response of the same identity, whose body may be complete by now
    /// where that of `old` is on its way. Returns false if `old` itself is not here any more.
    pub fn exchange(&self, key: &[u8], old: &Arc<Stored>, new: &Arc<Stored>) -> bool {
        self.change(key, Some(new.id()), |held| held.exchanged(old, new))
    }

    /// Replaces the response of identity `id`, whose body has broken off on its way, by `old`. Returns false if it is
    /// not here any more.
    pub fn put_back(&self, key: &[u8], id: u64, old: &Arc<Stored>) -> bool {
        self.change(key, Some(old.id()), |held| {
            let broken = held.as_slice().iter().find(|stored| stored.id() == id)?;
            // A purge of the new one may be all that anybody says of the old.
            let is_filling = matches!(broken.body, Body::Filling(_))
                && self.log.standing(key, broken) != Standing::Gone;
            is_filling.then(|| held.replaced(id, old)).flatten()
        })
    }

    /// Forgets the response of identity `id`.
    pub fn remove(&self, key: &[u8], id: u64) {
        self.keep_only(key, |held| held.without(id));
    }

    /// Forgets `old`, and what [goes with](Stored::goes_with) it.
    pub fn give_up(&self, key: &[u8], old: &Stored) {
        self.keep_only(key, |held| held.without_any_of(old));
    }

    /// Like [`give_up`](Self::give_up), because the answer to the fetch numbered `fetch` shows that `old` is out of date.
    /// What an earlier fetch brings in its place is refused, although nothing may be there any more.
    pub fn withdraw(&self, key: &[u8], old: &Stored, fetch: u64) {
        self.hold(key).add(self.hash(key), old, fetch);
        self.give_up(key, old);
    }

    /// Keeps under `key` only what `rest` returns.
    fn keep_only(&self, key: &[u8], rest: impl FnOnce(&Variants) -> Option<Variants>) {
        let _guard = self.hold(key);
        if let Some(held) = self.entries.peek(key) {
            self.put(key, rest(&held), None);
        }
    }

    /// Forgets all variants of `key`. Returns how many there were.
    pub fn forget(&self, key: &[u8]) -> u64 {
        let _guard = self.hold(key);
        let Some((_, removed)) = self.entries.remove(key) else {
            return 0;
        };
        let (count, gone) = (removed.as_slice().len(), leaving::blocks_of(&removed, None));
        drop(removed);
        self.evictions.leaving.add(gone);
        count as u64
    }

    /// Takes up what a lower tier holds under `key`, if it is newer than what is here. Returns what is here now, and
    /// what there is no room for.
    ///
    /// At most `most` variants are kept, and no more than there is room for.
    pub fn adopt(&self, key: &[u8], found: Vec<Arc<Stored>>, most: usize) -> Option<Variants> {
        let _guard = self.hold(key);
        let here = self.entries.peek(key);
        let merged = found.into_iter().fold(here, |held, new| match held {
            None => Some(Variants::One(new)),
            Some(held) if held.has_newer(&new) => Some(held),
            Some(held) => held.with_found(new, most),
        });
        self.put(key, merged.clone(), None);
        merged
    }

    /// Stores what `combine` makes of what is held under `key`, beside the other variants. Returns that, and whether there
    /// is room for it.
    ///
    /// The result carries `marks`. Whether two responses may be combined is for `combine` to check.
    ///
    /// # Errors
    /// It was purged meanwhile, or withdrawn by a fetch that began later.
    pub fn combine(
        &self,
        key: &[u8],
        ticket: Ticket,
        marks: Option<&Marks>,
        most: usize,
        combine: impl FnOnce(Option<&Variants>) -> Arc<Stored>,
    ) -> Result<(Arc<Stored>, bool), Refused> {
        if self.log.refuses(key, marks, ticket.log_at) {
            return Err(Refused::Purged);
        }
        let stripe = self.hold(key);
        let old = self.entries.peek(key);
        let stored = combine(old.as_ref());
        if stripe.overtake(self.hash(key), &stored, ticket.number) {
            return Err(Refused::Superseded);
        }
        let variants = match old {
            Some(old) => old.with(stored.clone(), most),
            None => Some(Variants::One(stored.clone())),
        };
        let is_put = self.put(key, variants, Some(stored.id()));
        Ok((stored, is_put))
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "there are as many stripes as the index is a remainder of"
    )]
    fn hold(&self, key: &[u8]) -> MutexGuard<'_, Withdrawals> {
        let index = self.hash(key) as usize % STRIPES;
        self.stripes[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.seed)
    }
}
