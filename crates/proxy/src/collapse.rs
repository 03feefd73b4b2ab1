//! Collapse: of several requests for one key, the first leads and fetches, the rest follow.
//!
//! A follower waits for the leader's *head*, never for its body: once the head has landed, the stored response is in the
//! store with its body on the way, and the follower looks it up like anybody else. A part is stored when it has come; until then
//! those who ask for the same get it from the flight. Whatever happens to the leader, its
//! [`Flight`] lands: when it is dropped without a word, followers are released to fetch on their own.

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

/// How a flight stands or ended, as its followers see it.
#[derive(Clone, Debug)]
pub enum FlightStatus {
    /// Still under way.
    Flying,
    /// Another variant than its request's was stored meanwhile: look again.
    OtherVariant,
    /// This was stored or freshened: look again. It is newer than any request that was there before the flight [began](Follower::began).
    Fetched(Arc<Stored>),
    /// A part is on its way: follow it, where it has what you want of it, and look again otherwise. The flight goes on, for others to
    /// follow it too, until the part has come.
    PartComing(Arc<Stored>),
    /// What came was purged, or replaced, before it could be shared: look again, and fetch it together.
    Overtaken,
    /// It is in memory by now, from a lower tier or another flight: look again.
    FoundHere,
    /// Nothing to share: fetch on your own.
    Released,
    /// The origin failed; the same failure is yours, unless something stale may be sent.
    Failed(Failure),
    /// The origin failed and the leader sent something stale: so may you, where your request allows it.
    Stale(Failing),
}

impl FlightStatus {
    /// What is known of what it brings for others.
    pub const fn brought(&self) -> Option<&Arc<Stored>> {
        match self {
            Self::Fetched(brought) | Self::PartComing(brought) => Some(brought),
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

/// Whether `stored`, fetched for `key`, was purged since, be it softly.
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
    /// Nobody else knows it, lest keys be made that fall into one shard.
    seed: u64,
}

/// The flights whose keys fall together.
type Shard = HashMap<Box<[u8]>, Flying>;

/// Where followers hear how their flight ended. The first of them makes it: most flights have none.
type Word = Arc<OnceLock<watch::Sender<FlightStatus>>>;

#[derive(Debug)]
struct Flying {
    word: Word,
    fill: Arc<Fill>,
    /// Where the log of purges stood when it began.
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

    /// Whether it is the flight of which followers hear there.
    fn is(&self, word: Option<&Word>) -> bool {
        word.is_some_and(|word| Arc::ptr_eq(word, &self.word))
    }
}

/// What a request is to do.
#[derive(Debug)]
pub enum Seat {
    /// Fetch; land the flight when the head is there.
    Lead(Flight),
    /// Wait for the leader.
    Follow(Follower),
}

/// A flight in its leader's hands.
#[derive(Debug)]
pub struct Flight {
    flights: Arc<Flights>,
    key: Box<[u8]>,
    shard: usize,
    word: Word,
    /// Whether it is off the map and its followers know.
    ended: bool,
}

/// The last word to the followers of a flight, in the hands of whoever moves in the body that it has brought.
#[derive(Debug)]
pub struct LastWord(Word);

/// A request that waits for a leader. While it is held, the leader's fetch goes on even if the leader's client leaves: until whoever
/// waits has looked for what has landed.
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
    /// Joins the flight for `key`, or leads a new one whose body goes into `fill`. A flight that began before its key was
    /// purged, be it softly, brings what is out of date: it is not joined.
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

    /// Joins the flight for `key` as [`join`](Self::join) does; `None`: there is none.
    pub fn follow(&self, key: &[u8], log: &Log) -> Option<Follower> {
        let outdated = self.outdated(key, log);
        let shard = self.hold(self.shard(key));
        let flying = shard.get(key)?;
        (!flying.is(outdated.as_ref())).then(|| flying.follower())
    }

    /// Whether a flight for `key` is under way that brings something: the key was not purged since, but softly at most. Nobody waits for
    /// a refresh, so that one is enough, however often what it brings is purged softly.
    pub fn flying(&self, key: &[u8], log: &Log) -> bool {
        let log_at = self
            .hold(self.shard(key))
            .get(key)
            .map(|flying| flying.log_at);
        log_at.is_some_and(|log_at| !log.refuses(key, None, log_at))
    }

    /// The flight for `key` that began before that was purged. Judged without the lock: purges by expressions take their time.
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
            // Of what it brings the tags are known too.
            || brings.is_some_and(|brings| is_purged(log, key, &brings));
        is_outdated.then_some(word)
    }

    /// Which shard the flights for `key` are in.
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
    /// What is fetched.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Ends the flight: takes it off the map and tells the followers.
    pub fn land(mut self, status: FlightStatus) {
        self.end(status);
    }

    /// Tells those who follow, now and later, of a part that is on its way.
    pub fn tell(&self, part: Arc<Stored>) {
        let word = self
            .word
            .get_or_init(|| watch::Sender::new(FlightStatus::Flying));
        word.send_replace(FlightStatus::PartComing(part));
    }

    /// What tells the followers, once the flight has landed too, that its body breaks off.
    pub fn last_word(&self) -> LastWord {
        LastWord(self.word.clone())
    }

    /// Ends it once; later calls do nothing. That it has failed stays the last word.
    fn end(&mut self, status: FlightStatus) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.leave();
        // Nobody can join any more: who has not asked for word by now never will.
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

    /// Off the map, if it is still this flight that stands there.
    fn leave(&self) {
        let mut shard = self.flights.hold(self.shard);
        if let Some((key, flying)) = shard.remove_entry(&self.key)
            && !Arc::ptr_eq(&flying.word, &self.word)
        {
            // Another, which took off when this one was out of date.
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
    /// What has landed is about to break off. Who has not found it yet would find nothing, and ask the origin by himself.
    pub fn failed(&self, failure: &Failure) {
        if let Some(word) = self.0.get() {
            word.send_replace(FlightStatus::Failed(failure.clone()));
        }
    }
}

impl Follower {
    /// When the flight began: nothing was asked of the origin before.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Waits until there is news of the flight: it has landed, or a part is coming.
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

    /// Why the flight has failed, be it after it had landed.
    pub fn failure(&self) -> Option<Failure> {
        match &*self.status.borrow() {
            FlightStatus::Failed(failure) => Some(failure.clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
