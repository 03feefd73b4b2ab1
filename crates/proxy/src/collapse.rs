//! Collapse: of several requests for one key, the first leads and fetches, the rest follow.
//!
//! A follower waits for the leader's *head*, never for its body. Once the head has landed, the stored response is in
//! the store with its body on the way, and the follower looks it up like any other request. A part is stored when all
//! of it has come; until then, requests for the same part get it from the flight. What leaves the store at once
//! is handed to those who have waited for it. Whatever happens to the leader, its [`Flight`] lands: if it is dropped
//! before that, followers are released to fetch on their own.

mod errand;
mod flight;
mod key;

pub use errand::Errand;
pub use flight::{Flight, Follower, LastWord};
pub use key::key_of;

use crate::{error::Failure, outcome::Failing};
use errand::ConfiguredRoute;
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};
use store::{
    Stored,
    fill::Fill,
    purge::{Label, Log, Standing},
};
use tokio::sync::watch;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The state of a flight, as its followers see it.
#[derive(Clone, Debug)]
pub enum FlightStatus {
    /// Still under way.
    Flying,
    /// A variant other than its request's was stored: look again.
    OtherVariant,
    /// This response was stored or freshened: look again. It is newer than any request that was there before the flight
    /// [began](Follower::began).
    Fetched(Arc<Stored>),
    /// A part is on its way: follow it if it has what you need of it, and look again otherwise. The flight continues,
    /// so that others can follow it too, until the part has come.
    PartComing(Arc<Stored>),
    /// This response answers those who have waited for it. It is not kept for others.
    Unkept(Arc<Stored>),
    /// The answer was purged or replaced before it could be shared: look again, and collapse the next fetch.
    Overtaken,
    /// It is in memory by now, from a lower tier or another flight: look again.
    FoundHere,
    /// Nothing to share: fetch on your own.
    Released,
    /// The origin failed: fail alike, unless something stale may be sent.
    Failed(Failure),
    /// The origin failed and the leader sent something stale: do so too, if your request allows it.
    Stale(Failing),
}

impl FlightStatus {
    /// Returns the response that it is known to bring for others.
    pub const fn brought(&self) -> Option<&Arc<Stored>> {
        match self {
            Self::Fetched(brought) | Self::PartComing(brought) | Self::Unkept(brought) => {
                Some(brought)
            }
            Self::Flying
            | Self::OtherVariant
            | Self::Overtaken
            | Self::FoundHere
            | Self::Released
            | Self::Failed(_)
            | Self::Stale(_) => None,
        }
    }
}

/// Whether `stored`, fetched for `key`, was purged since, even softly.
pub fn is_purged(log: &Log, key: &[u8], stored: &Stored) -> bool {
    match log.standing(key, stored) {
        Standing::Gone | Standing::Stale { .. } => true,
        Standing::Good | Standing::Unsure => false,
    }
}

/// Flights under way, by cache key (and variant, and range). Shared by all workers.
#[derive(Debug)]
pub struct Flights {
    shards: Box<[Mutex<Shard>]>,
    /// Secret, so that nobody can make keys that fall into one shard.
    seed: u64,
}

/// The flights whose keys fall into one shard.
type Shard = HashMap<Box<[u8]>, Flying>;

/// What a flight tells its followers.
type Word = Arc<FlightNews>;

#[derive(Debug, Default)]
struct FlightNews {
    /// Its state. The first follower creates the channel: most flights have none.
    status: OnceLock<watch::Sender<FlightStatus>>,
    /// When its leader went on to the origin. Before that, it may wait for another node's fetch.
    asked: OnceLock<Instant>,
}

impl FlightNews {
    fn status(&self) -> &watch::Sender<FlightStatus> {
        self.status
            .get_or_init(|| watch::Sender::new(FlightStatus::Flying))
    }
}

#[derive(Debug)]
struct Flying {
    word: Word,
    fill: Arc<Fill>,
    /// The number of the log of purges when it began.
    log_at: u64,
    route: ConfiguredRoute,
    /// What its origin is to confirm.
    validates: Option<Arc<Stored>>,
    began: Instant,
}

impl Flying {
    fn follower(&self) -> Follower {
        Follower {
            status: self.word.status().subscribe(),
            word: self.word.clone(),
            began: self.began,
            _interest: self.fill.interest(),
        }
    }

    /// Why nobody joins it, if it is the flight that was found to be `outdated`.
    fn why_left(&self, outdated: Option<&(Word, Outdated)>) -> Option<Outdated> {
        let (word, why) = outdated?;
        self.is(Some(word)).then_some(*why)
    }

    /// Whether it is the flight that `word` belongs to.
    fn is(&self, word: Option<&Word>) -> bool {
        word.is_some_and(|word| Arc::ptr_eq(word, &self.word))
    }
}

/// Why nobody joins a flight any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outdated {
    /// What it brings was purged since it began, even softly.
    Purged,
    /// A reload has overruled it.
    Overruled,
}

/// What a request is to do: lead or follow.
#[derive(Debug)]
pub enum Seat {
    /// Fetch; land the flight when the head is there.
    Lead(Flight),
    /// Wait for the leader.
    Follow(Follower),
}

impl Default for Flights {
    fn default() -> Self {
        Self {
            shards: (0..64).map(|_| Mutex::default()).collect(),
            seed: RandomState::new().hash_one(()),
        }
    }
}

impl Flights {
    /// Joins the flight for `key`, or leads a new one whose body goes into `fill`. An [outdated](Self::outdated) flight
    /// is not joined.
    pub fn join(self: &Arc<Self>, key: &[u8], errand: &Errand<'_>, fill: Arc<Fill>) -> Seat {
        let index = self.shard(key);
        let outdated = self.outdated(key, errand);
        let mut shard = self.hold(index);
        let mut left = None;
        if let Some(flying) = shard.get(key) {
            left = flying.why_left(outdated.as_ref());
            if left.is_none() {
                return Seat::Follow(flying.follower());
            }
        }
        let word = Word::default();
        shard.insert(
            key.into(),
            Flying {
                word: word.clone(),
                fill,
                log_at: errand.log.head(),
                route: errand.route.clone(),
                validates: errand.validates.cloned(),
                began: Instant::now(),
            },
        );
        Seat::Lead(Flight {
            flights: self.clone(),
            key: key.into(),
            shard: index,
            word,
            ended: false,
            left,
        })
    }

    /// Joins the flight for `key` as [`join`](Self::join) does; returns `None` if there is none.
    pub fn follow(&self, key: &[u8], errand: &Errand<'_>) -> Option<Follower> {
        let outdated = self.outdated(key, errand);
        let shard = self.hold(self.shard(key));
        let flying = shard.get(key)?;
        let left = flying.why_left(outdated.as_ref());
        left.is_none().then(|| flying.follower())
    }

    /// Whether a flight for `key` is under way that is still of use: no reload has overruled it since, and its key was
    /// not purged, or only softly. No client waits for a refresh, so one is enough, however often what it brings is
    /// purged softly.
    pub fn flying(&self, key: &[u8], errand: &Errand<'_>) -> bool {
        let begun = self
            .hold(self.shard(key))
            .get(key)
            .map(|flying| (flying.log_at, errand.overrules(&flying.route)));
        begun.is_some_and(|(log_at, is_overruled)| {
            !is_overruled && !errand.log.refuses(key, None, log_at)
        })
    }

    /// Returns the flight for `key` if what it brings is outdated, and why. Purges are judged without the lock, since
    /// those by expressions take time.
    fn outdated(&self, key: &[u8], errand: &Errand<'_>) -> Option<(Word, Outdated)> {
        let (word, log_at, validates) = {
            let shard = self.hold(self.shard(key));
            let flying = shard.get(key)?;
            if errand.overrules(&flying.route) {
                return Some((flying.word.clone(), Outdated::Overruled));
            }
            let validates = flying.validates.clone();
            (flying.word.clone(), flying.log_at, validates)
        };
        let log = errand.log;
        let label = Label {
            key,
            checked: log_at,
            content_type: &[],
            tags: Vec::new(),
        };
        let status = word.status.get();
        let brings = status.and_then(|status| status.borrow().brought().cloned());
        // The tags of what it validates, or already brings, are known too.
        let mut known = validates.into_iter().chain(brings);
        let is_outdated = log.has_touched(&label) || known.any(|one| is_purged(log, key, &one));
        is_outdated.then_some((word, Outdated::Purged))
    }

    /// Returns the index of the shard with the flights for `key`.
    fn shard(&self, key: &[u8]) -> usize {
        xxh3_64_with_seed(key, self.seed) as usize % self.shards.len()
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "the index is a remainder of the length"
    )]
    fn hold(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
