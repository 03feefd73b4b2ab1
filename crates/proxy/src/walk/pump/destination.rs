//! What becomes of a body when it is complete or has broken off.

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    collapse::{self, LastWord},
    hit_for_miss::{Credentials, Unshared},
    walk::tiers,
};
use std::{rc::Rc, sync::Arc};
use store::{Body, Reservation, Stored, Variants, purge::Standing, shared::Lease};

/// The response that a new one has replaced, and its share of the budget meanwhile. It is put back if the new body
/// breaks off: an origin that fails half-way leaves the stored response as usable as one that fails at once (RFC 9111
/// section 4.2.4).
pub struct Before {
    /// The replaced response.
    pub stored: Arc<Stored>,
    /// Its bytes of the budget, until this is dropped.
    pub _reservation: Reservation,
}

/// What becomes of a body when it is complete.
pub enum Destination {
    /// It replaces the fill in this stored response.
    Whole {
        ask: Rc<Ask>,
        stored: Arc<Stored>,
        before: Option<Before>,
        /// What the response takes of the budget meanwhile, beside its body.
        _reservation: Reservation,
        /// The responses of other variants that the tiers below give up then, without their content.
        outdated: Vec<Stored>,
        lease: Option<Lease>,
    },
    /// This function stores it (parts, answers to POST). It returns whether it stores the very memory that readers
    /// have.
    Then(StoreBody),
    /// It goes to its readers and is not kept.
    Nowhere,
}

/// Stores a complete body.
type StoreBody = Box<dyn FnOnce(&Worker, Body) -> bool>;

impl Destination {
    /// Stores a complete body; `None` if it turned out not to be kept. Returns whether the store counts the readers'
    /// memory from now on.
    pub(super) fn keep(self, worker: &Worker, body: Option<Body>) -> bool {
        let memory = &worker.cache.memory;
        match (body, self) {
            // No request may find it.
            (None, Self::Whole { ask, stored, .. }) => {
                memory.remove(ask.key.as_bytes(), stored.id());
                false
            }
            (_, Self::Nowhere) | (None, Self::Then(_)) => false,
            (
                Some(body),
                Self::Whole {
                    ask,
                    stored,
                    outdated,
                    lease,
                    ..
                },
            ) => {
                let key = ask.key.as_bytes();
                keep_whole(worker, key, &stored, body, |whole| {
                    for one in &outdated {
                        tiers::give_up(worker, key, one);
                    }
                    tiers::keep(worker, key, whole, lease);
                })
            }
            (Some(body), Self::Then(store)) => store(worker, body),
        }
    }

    /// Whether a later request may find what comes: it was neither replaced meanwhile nor purged. Otherwise it is [not
    /// kept](Self::keep) when it is complete, in any tier.
    pub(super) fn is_found(&self, worker: &Worker) -> bool {
        let Self::Whole { ask, stored, .. } = self else {
            return matches!(self, Self::Then(_));
        };
        let (memory, key) = (&worker.cache.memory, ask.key.as_bytes());
        let held = memory.peek(key);
        let mut held = held.iter().flat_map(Variants::as_slice);
        let here = held.find(|held| held.id() == stored.id());
        here.is_some_and(|here| memory.log().standing(key, here) != Standing::Gone)
    }

    /// Handles a response that broke off: what was there before is put back, unless it was purged or replaced
    /// meanwhile.
    pub(super) fn take_back(&self, worker: &Worker) {
        if let Self::Whole {
            ask,
            stored,
            before: Some(before),
            ..
        } = self
            && {
                let memory = &worker.cache.memory;
                memory.put_back(ask.key.as_bytes(), stored.id(), &before.stored)
            }
        {
            return;
        }
        self.forget(worker);
    }

    /// Gives the lease back once so much has been `received` that the other nodes do not get the body.
    pub(super) fn note_received(&mut self, received: u64) {
        if let Self::Whole { lease, .. } = self {
            lease.take_if(|lease| received > lease.largest_body());
        }
    }

    /// Handles a response that has become larger than what is kept. No request finds it any more, nor what it replaced
    /// in the tiers below. Its readers read on, and other nodes do not wait for it.
    pub(super) fn withdraw(&mut self, worker: &Worker) {
        let Self::Whole {
            ask, stored, lease, ..
        } = self
        else {
            return;
        };
        drop(lease.take());
        if Unshared::TooLarge.withdraws(stored.status, false, Credentials::None) {
            tiers::withdraw(worker, ask.key.as_bytes(), stored, stored.fetch());
        } else {
            self.forget(worker);
        }
    }

    /// Lets memory forget the response, which is in no other tier while it comes. Its readers read on.
    pub(super) fn forget(&self, worker: &Worker) {
        if let Self::Whole { ask, stored, .. } = self {
            worker.cache.memory.remove(ask.key.as_bytes(), stored.id());
        }
    }

    /// Gives a complete body that is not kept to those who have waited for it. One on disk goes too soon for them.
    pub(super) fn pass_on(&self, body: Body, followers: &LastWord) {
        if let Self::Whole { stored, .. } = self
            && !body.is_on_disk()
        {
            let whole = Stored::clone(stored).with_body(body);
            followers.brought(Arc::new(whole));
        }
    }

    /// Remembers for the page why the answer was of no use to others.
    pub(super) fn note(&self, worker: &Worker, why: Unshared) {
        let Self::Whole { ask, stored, .. } = self else {
            return;
        };
        let key = ask.key.as_bytes();
        let held = worker.cache.memory.peek(key);
        let held = held.iter().flat_map(Variants::as_slice);
        let others = held.filter(|held| held.id() != stored.id());
        let key = collapse::key_of(key, &ask.fields, others);
        let now = clock::now();
        ask.remember_unshared(worker, &key, why, now);
        if matches!(why, Unshared::Unanswered(_)) {
            ask.remember_failed(worker, &key, now);
        }
    }
}

/// Puts the body into its place, unless the response was withdrawn or a later one has come. Returns whether it is
/// there. `keep_below` keeps it in the tiers below, unless it was purged.
fn keep_whole(
    worker: &Worker,
    key: &[u8],
    stored: &Stored,
    body: Body,
    keep_below: impl FnOnce(&Arc<Stored>),
) -> bool {
    let memory = &worker.cache.memory;
    let whole = memory.amend(key, stored.id(), |held| Some(held.clone().with_body(body)));
    let Some(whole) = whole else {
        return false;
    };
    let (marks, checked) = (whole.marks.as_deref(), whole.checked());
    if !memory.log().refuses(key, marks, checked) {
        keep_below(&whole);
        // If it was used by others besides the request that fetched it.
        if stored.uses() > 1 {
            tiers::keep_asked_for(worker, key, &whole);
        }
    }
    true
}
