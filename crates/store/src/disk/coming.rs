//! What is about to be written, and hides older responses meanwhile.
//!
//! The keeper writes in the order in which things were offered, and what it loads or moves is older than any offer. So
//! while a response waits, or is being written, whatever the index has of its key is older, also what comes into the
//! index only then: an offer that came before, a record that is moved. That is why nothing is taken out of the index for
//! what waits. What is found there is compared with it instead ([`Waiting::hides`]), after it was read. What waits no
//! longer is in the index by then, in the place of older versions, or was purged with them because it could not be
//! written. What is forgotten while it waits ([`Waiting::forget`]) is not written, or leaves the index before it waits no
//! longer.

use crate::{Stored, clock, variants::Rank};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Release},
        },
    },
};

/// If more than this many wait under one key, all of it is hidden: finding something there stays cheap.
const MOST_COMPARED: usize = 32;

type Responses = HashMap<u64, Vec<OnItsWay>>;

/// A response that is about to be written.
#[derive(Debug)]
struct OnItsWay {
    stored: Arc<Stored>,
    is_forgotten: bool,
}

/// The responses that are about to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// How many they are: mostly none, and then nobody takes the lock.
    count: AtomicUsize,
    /// By the hashes of their keys.
    responses: Mutex<Responses>,
}

impl Waiting {
    /// Adds `stored`, whose key has this hash, until the result is dropped.
    pub fn add(&self, hash: u64, stored: &Arc<Stored>) -> Coming {
        let mut waiting = self.lock();
        waiting.entry(hash).or_default().push(OnItsWay {
            stored: stored.clone(),
            is_forgotten: false,
        });
        self.0.count.fetch_add(1, Release);
        drop(waiting);
        Coming {
            waiting: self.clone(),
            hash,
            stored: stored.clone(),
        }
    }

    /// Whether anything waits under the key with this hash.
    pub fn knows(&self, hash: u64) -> bool {
        self.is_any() && self.lock().contains_key(&hash)
    }

    /// Whether something waits that may have to be sent instead of `older`, which was found under the key with this
    /// hash.
    pub fn hides(&self, hash: u64, older: &Stored) -> bool {
        if !self.is_any() {
            return false;
        }
        let waiting = self.lock();
        waiting.get(&hash).is_some_and(|waiting| {
            let goes_before = |new: &OnItsWay| goes_before(&new.stored, older);
            waiting.len() > MOST_COMPARED || waiting.iter().any(goes_before)
        })
    }

    /// Forgets what waits under the key with this hash and `is_meant`. It goes on hiding what is older until it waits no
    /// longer.
    pub fn forget(&self, hash: u64, is_meant: impl Fn(&Stored) -> bool) {
        if !self.is_any() {
            return;
        }
        for one in self.lock().get_mut(&hash).into_iter().flatten() {
            one.is_forgotten |= is_meant(&one.stored);
        }
    }

    fn is_any(&self) -> bool {
        self.0.count.load(Acquire) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Responses> {
        let responses = self.0.responses.lock();
        responses.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether some request may have to be answered with `new` where both are stored. Variants that nominate the same fields
/// answer different requests.
fn goes_before(new: &Stored, older: &Stored) -> bool {
    match (&new.variant, &older.variant) {
        (Some(new), Some(older)) => new == older || new.nominated != older.nominated,
        (None, Some(_)) => Rank::of(older, clock::now()) < Rank::Chosen,
        (_, None) => true,
    }
}

/// Marks that a response is about to be written, until it is dropped.
#[derive(Debug)]
pub(super) struct Coming {
    waiting: Waiting,
    hash: u64,
    stored: Arc<Stored>,
}

impl Coming {
    /// Whether it was [forgotten](Waiting::forget) since it began to wait.
    pub fn is_forgotten(&self) -> bool {
        let waiting = self.waiting.lock();
        let mut all = waiting.get(&self.hash).into_iter().flatten();
        // The first is this one, as when it is dropped.
        all.find(|one| self.is(one))
            .is_some_and(|own| own.is_forgotten)
    }

    fn is(&self, one: &OnItsWay) -> bool {
        Arc::ptr_eq(&one.stored, &self.stored)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        let mut waiting = self.waiting.lock();
        let Entry::Occupied(mut entry) = waiting.entry(self.hash) else {
            return;
        };
        let all = entry.get_mut();
        // The first is the one that was written.
        if let Some(at) = all.iter().position(|one| self.is(one)) {
            all.remove(at);
            self.waiting.0.count.fetch_sub(1, Release);
        }
        if all.is_empty() {
            entry.remove();
        }
    }
}
