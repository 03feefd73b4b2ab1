//! What is not stored any more, and still read: a client that takes its time holds the bytes, wherever the store has them. They stay in
//! the budget until it has them all.

use crate::{Budget, Reservation, Stored};
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

#[derive(Debug)]
struct Left {
    stored: Arc<Stored>,
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
        if weight < LARGE || !stored.is_read() {
            return;
        }
        let mut room = self.budget.reservation();
        room.take(weight);
        let mut list = self.lock();
        list.push_back(Left {
            stored: stored.clone(),
            _room: room,
        });
        self.count.store(list.len(), Relaxed);
    }

    /// Looks at some of them, and lets those go that nobody reads any more. One load where there are none.
    pub fn look(&self) {
        if self.count.load(Relaxed) == 0 {
            return;
        }
        let mut list = self.lock();
        for _ in 0..STEP.min(list.len()) {
            if let Some(left) = list.pop_front()
                && left.stored.is_read()
            {
                list.push_back(left);
            }
        }
        self.count.store(list.len(), Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Left>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
