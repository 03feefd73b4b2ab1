//! Collapse: of several requests for one key, the first leads and fetches, the rest follow.
//!
//! A follower waits for the leader's *head*, never for its body. Once the head has landed, the stored response is in
//! the store with its body on the way, and the follower looks it up like any other request. A part is stored when all
//! of it has come; until then, requests for the same part get it from the flight. What leaves the store at once
//! is handed to those who have waited for it. Whatever happens to the leader, its [`Flight`] lands: if it is dropped
//! before that, followers are released to fetch on their own.

mod key;

pub use key::key_of;

use crate::{error::Failure, outcome::Failing};
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

/// Tells followers the state of their flight. The first follower creates the channel: most flights have none.
type Word = Arc<OnceLock<watch::Sender<FlightStatus>>>;

#[derive(Debug)]
struct Flying {
    word: Word,
    fill: Arc<Fill>,
    /// The number of the log of purges when it began.
    log_at: u64,
    began: Instant,
}

impl Flying {
    fn follower(&self) -> Follower {
        let word = self
            .word
            .get_or_init(|| watch::Sender::new(FlightStatus::Flying));
        Follower {
            status: word.subscribe(),
            began: self.began,
            _interest: self.fill.interest(),
        }
    }

    /// Whether it is the flight that `word` belongs to.
    fn is(&self, word: Option<&Word>) -> bool {
        word.is_some_and(|word| Arc::ptr_eq(word, &self.word))
    }
}

/// What a request is to do: lead or follow.
#[derive(Debug)]
pub enum Seat {
    /// Fetch; land the flight when the head is there.
    Lead(Flight),
    /// Wait for the leader.
    Follow(Follower),
}

/// A flight, held by its leader.
#[derive(Debug)]
pub struct Flight {
    flights: Arc<Flights>,
    key: Box<[u8]>,
    shard: usize,
    word: Word,
    /// Whether it is off the map and its followers have been told.
    ended: bool,
}

/// Tells the followers of a flight what becomes of its body. Held by the task that moves the body.
#[derive(Debug)]
pub struct LastWord(Word);

/// A request that waits for a leader. While it is held, the leader's fetch continues even if the leader's client
/// leaves, until the follower has looked for what has landed.
#[derive(Debug)]
pub struct Follower {
    status: watch::Receiver<FlightStatus>,
    began: Instant,
    _interest: store::fill::Interest,
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
    /// Joins the flight for `key`, or leads a new one whose body goes into `fill`. A flight that began before its key
    /// was purged, even softly, brings an outdated response: it is not joined.
    pub fn join(self: &Arc<Self>, key: &[u8], log: &Log, fill: Arc<Fill>) -> Seat {
        let index = self.shard(key);
        let outdated = self.outdated(key, log);
        let mut shard = self.hold(index);
        if let Some(flying) = shard.get(key)
            && !flying.is(outdated.as_ref())
        {
            return Seat::Follow(flying.follower());
        }
        let word = Word::default();
        shard.insert(
            key.into(),
            Flying {
                word: word.clone(),
                fill,
                log_at: log.head(),
                began: Instant::now(),
            },
        );
        Seat::Lead(Flight {
            flights: self.clone(),
            key: key.into(),
            shard: index,
            word,
            ended: false,
        })
    }

    /// Joins the flight for `key` as [`join`](Self::join) does; returns `None` if there is none.
    pub fn follow(&self, key: &[u8], log: &Log) -> Option<Follower> {
        let outdated = self.outdated(key, log);
        let shard = self.hold(self.shard(key));
        let flying = shard.get(key)?;
        (!flying.is(outdated.as_ref())).then(|| flying.follower())
    }

    /// Whether a flight for `key` is under way that is still of use: its key was not purged since, or only softly. No
    /// client waits for a refresh, so one is enough, however often what it brings is purged softly.
    pub fn flying(&self, key: &[u8], log: &Log) -> bool {
        let log_at = self
            .hold(self.shard(key))
            .get(key)
            .map(|flying| flying.log_at);
        log_at.is_some_and(|log_at| !log.refuses(key, None, log_at))
    }

    /// Returns the flight for `key` if it began before the key was purged. Judged without the lock, since purges by
    /// expressions take time.
    fn outdated(&self, key: &[u8], log: &Log) -> Option<Word> {
        let (word, log_at) = {
            let shard = self.hold(self.shard(key));
            let flying = shard.get(key)?;
            (flying.word.clone(), flying.log_at)
        };
        let label = Label {
            key,
            checked: log_at,
            content_type: &[],
            tags: Vec::new(),
        };
        let brings = word.get().and_then(|word| word.borrow().brought().cloned());
        let is_outdated = log.has_touched(&label)
            // The tags of a response that it already brings are known too.
            || brings.is_some_and(|brings| is_purged(log, key, &brings));
        is_outdated.then_some(word)
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

impl Flight {
    /// Returns the key that is fetched.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Ends the flight: takes it off the map and tells the followers.
    pub fn land(mut self, status: FlightStatus) {
        self.end(status);
    }

    /// Tells present and later followers of a part that is on its way.
    pub fn tell(&self, part: Arc<Stored>) {
        let word = self
            .word
            .get_or_init(|| watch::Sender::new(FlightStatus::Flying));
        word.send_replace(FlightStatus::PartComing(part));
    }

    /// Returns what tells the followers that the body breaks off or is not kept, even after the flight has landed.
    pub fn last_word(&self) -> LastWord {
        LastWord(self.word.clone())
    }

    /// Ends the flight once; later calls do nothing. A failure that was already told stays.
    fn end(&mut self, status: FlightStatus) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.leave();
        // Nobody can join any more: if there is no channel by now, there are no followers.
        if let Some(word) = self.word.get() {
            word.send_if_modified(|told| {
                let is_open = !matches!(told, FlightStatus::Failed(_));
                if is_open {
                    *told = status;
                }
                is_open
            });
        }
    }

    /// Takes it off the map, if its key still belongs to this flight.
    fn leave(&self) {
        let mut shard = self.flights.hold(self.shard);
        if let Some((key, flying)) = shard.remove_entry(&self.key)
            && !Arc::ptr_eq(&flying.word, &self.word)
        {
            // Another flight, which began when this one was outdated.
            shard.insert(key, flying);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.end(FlightStatus::Released);
    }
}

impl LastWord {
    /// Tells that the body of what has landed is about to break off. A follower that has not found it yet would find
    /// nothing, and would ask the origin on its own.
    pub fn failed(&self, failure: &Failure) {
        if let Some(word) = self.0.get() {
            word.send_replace(FlightStatus::Failed(failure.clone()));
        }
    }

    /// Hands over what has landed, as it has come whole and is about to leave the store. A follower that has not found
    /// it yet would find nothing either.
    pub fn brought(&self, unkept: Arc<Stored>) {
        if let Some(word) = self.0.get() {
            word.send_replace(FlightStatus::Unkept(unkept));
        }
    }
}

impl Follower {
    /// Returns when the flight began: nothing was asked of the origin before.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Waits for news of the flight: it has landed, or a part is coming.
    pub async fn next_status(&mut self) -> FlightStatus {
        match self
            .status
            .wait_for(|status| !matches!(status, FlightStatus::Flying))
            .await
        {
            Ok(status) => status.clone(),
            Err(_) => FlightStatus::Released,
        }
    }

    /// Returns why the flight has failed, even if it failed after it had landed.
    pub fn failure(&self) -> Option<Failure> {
        match &*self.status.borrow() {
            FlightStatus::Failed(failure) => Some(failure.clone()),
            _ => None,
        }
    }

    /// Returns what the flight has brought for its followers alone, even if it left the store after it had landed.
    pub fn unkept(&self) -> Option<Arc<Stored>> {
        match &*self.status.borrow() {
            FlightStatus::Unkept(unkept) => Some(unkept.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
