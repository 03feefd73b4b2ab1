//! The two ends of a flight: the leader's and a follower's.

use super::{Errand, FlightStatus, Flights, Outdated, Seat, Word};
use crate::error::Failure;
use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{
    Stored,
    fill::{Fill, Interest},
};
use tokio::{sync::watch, time::timeout};

/// A flight, held by its leader.
#[derive(Debug)]
pub struct Flight {
    pub(super) flights: Arc<Flights>,
    pub(super) key: Box<[u8]>,
    pub(super) shard: usize,
    pub(super) word: Word,
    /// Whether it is off the map and its followers have been told.
    pub(super) ended: bool,
    /// Why the flight in whose place it began was not joined.
    pub(super) left: Option<Outdated>,
}

/// Tells the followers of a flight what becomes of its body. Held by the task that moves the body.
#[derive(Debug)]
pub struct LastWord(Word);

/// A request that waits for a leader. While it is held, the leader's fetch continues even if the leader's client
/// leaves, until the follower has looked for what has landed.
#[derive(Debug)]
pub struct Follower {
    pub(super) status: watch::Receiver<FlightStatus>,
    pub(super) word: Word,
    pub(super) began: Instant,
    pub(super) _interest: Interest,
}

impl Flight {
    /// Returns the key that is fetched.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether it began in place of one that a reload has overruled.
    pub fn has_left_overruled(&self) -> bool {
        self.left == Some(Outdated::Overruled)
    }

    /// Ends the flight: takes it off the map and tells the followers.
    pub fn land(mut self, status: FlightStatus) {
        self.end(status);
    }

    /// Tells present and later followers of a part that is on its way.
    pub fn tell(&self, part: Arc<Stored>) {
        let status = self.word.status();
        status.send_replace(FlightStatus::PartComing(part));
    }

    /// Notes that its leader goes on to the origin now: until then it may have waited for another node's fetch.
    pub fn asks_origin(&self) {
        let _ = self.word.asked.set(Instant::now());
    }

    /// Goes on as the flight for `now`, and no longer for `before`, with which its key begins: it is known by now what
    /// selects variants. Those who follow look again. If another flight for `now` is under way, nobody follows this one
    /// any more.
    pub fn narrow(&mut self, before: &[u8], now: &[u8], errand: &Errand<'_>) {
        let rest = self.key.strip_prefix(before).filter(|_| before != now);
        let Some(rest) = rest else {
            return;
        };
        let key = [now, rest].concat();
        let joined = self
            .fill()
            .map(|fill| self.flights.join(&key, errand, fill));
        match joined {
            Some(Seat::Lead(narrow)) => mem::replace(self, narrow).land(FlightStatus::OtherVariant),
            Some(Seat::Follow(_)) | None => self.end(FlightStatus::OtherVariant),
        }
    }

    /// The fill that it brings; `None` if it is off the map, or another flight has its key.
    fn fill(&self) -> Option<Arc<Fill>> {
        let shard = self.flights.hold(self.shard);
        let flying = shard.get(&self.key)?;
        flying.is(Some(&self.word)).then(|| flying.fill.clone())
    }

    /// Returns what tells the followers that the body breaks off or is not kept, even after the flight has landed.
    pub fn last_word(&self) -> LastWord {
        LastWord(self.word.clone())
    }

    /// Ends the flight once; later calls do nothing. A failure that was already told stays.
    fn end(&mut self, status: FlightStatus) {
        if mem::replace(&mut self.ended, true) {
            return;
        }
        self.leave();
        // Nobody can join any more: if there is no channel by now, there are no followers.
        if let Some(channel) = self.word.status.get() {
            channel.send_if_modified(|last| {
                let is_open = !matches!(last, FlightStatus::Failed(_));
                if is_open {
                    *last = status;
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
        if let Some(status) = self.0.status.get() {
            status.send_replace(FlightStatus::Failed(failure.clone()));
        }
    }

    /// Hands over what has landed, as it has come whole and is about to leave the store. A follower that has not found
    /// it yet would find nothing either.
    pub fn brought(&self, unkept: Arc<Stored>) {
        if let Some(status) = self.0.status.get() {
            status.send_replace(FlightStatus::Unkept(unkept));
        }
    }
}

impl Follower {
    /// Returns when the flight began: nothing was asked of the origin before.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Waits for [news](Self::next_status) for at most `patience`, from when the origin was asked or from now, whichever
    /// is later. `None`: it takes longer. As long as the leader itself waits for another node, whose `lease` limits that,
    /// all wait with it: otherwise each would fetch alone just when it begins.
    pub async fn next_status_within(&mut self, patience: Duration) -> Option<FlightStatus> {
        let mut left = patience;
        loop {
            if let Ok(status) = timeout(left, self.next_status()).await {
                return Some(status);
            }
            let asked = self.word.asked.get();
            left = asked.map_or(patience, |asked| patience.saturating_sub(asked.elapsed()));
            if left.is_zero() {
                return None;
            }
        }
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
