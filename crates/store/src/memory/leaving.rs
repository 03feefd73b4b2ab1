//! What is not stored any more, and still read: a client that takes its time holds the bytes, wherever the store has them. They stay in
//! the budget until it has them all.

use crate::{Body, Budget, Reservation, Stored};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Smaller ones are not looked after: what a client has not read of them lies in its connection's buffers.
const LARGE: u64 = 64 << 10;

/// How many are looked at each time.
const STEP: usize = 8;

/// The list. What it holds is seldom more than a few.
#[derive(Debug)]
pub(super) struct Leaving {
    list: Mutex<VecDeque<Left>>,
    count: AtomicUsize,
    budget: Arc<Budget>,
}

/// The bytes alone: what was made of them, and is kept with the response, refers to them too.
#[derive(Debug)]
struct Left {
    bodies: Vec<Body>,
    _room: Reservation,
}

impl Leaving {
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self {
            list: Mutex::default(),
            count: AtomicUsize::new(0),
            budget: budget.clone(),
        }
    }

    /// `stored` is found no more.
    pub fn add(&self, stored: &Arc<Stored>) {
        let weight = stored.weight();
        if weight < LARGE {
            return;
        }
        let bodies: Vec<Body> = stored
            .bodies()
            .filter(|body| body.is_read())
            .cloned()
            .collect();
        if bodies.is_empty() {
            return;
        }
        let mut room = self.budget.reservation();
        room.take(weight);
        let mut list = self.lock();
        list.push_back(Left {
            bodies,
            _room: room,
        });
        self.count.store(list.len(), Relaxed);
    }

    /// Looks at some of them, and lets those go that nobody reads any more. One load where there are none.
    pub fn look(&self) {
        if self.count.load(Relaxed) == 0 {
            return;
        }
        let mut gone = Vec::new();
        let mut list = self.lock();
        for _ in 0..STEP.min(list.len()) {
            let Some(left) = list.pop_front() else {
                break;
            };
            if left.bodies.iter().any(Body::is_read) {
                list.push_back(left);
            } else {
                gone.push(left);
            }
        }
        self.count.store(list.len(), Relaxed);
        // They are freed when nobody waits for the list any more.
        drop(list);
        drop(gone);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Left>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
