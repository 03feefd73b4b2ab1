//! Waits for clients. A connection of HTTP/2 has several at once, each with its own time.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::Waker,
};

/// A wait. The one that began first is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::listen) struct Wait {
    /// When it began.
    since: u32,
    /// Tells apart waits that began in the same step.
    number: u32,
}

/// The waits of one kind.
#[derive(Debug, Default)]
pub(in crate::listen) struct Waits {
    /// The waits of HTTP/2, and the tasks to wake.
    all: Mutex<BTreeMap<Wait, Waker>>,
    /// Numbers the waits.
    number: AtomicU32,
    /// Waits that began at this step or before are late; 0 if none is.
    late: AtomicU32,
}

impl Waits {
    /// Begins a wait `now`. `waker` is of the task to wake if it takes too long; `None` if the connection ends then.
    pub(in crate::listen) fn begin(&self, now: u32, waker: Option<&Waker>) -> Wait {
        let number = self.number.fetch_add(1, Relaxed);
        let wait = Wait { since: now, number };
        if let Some(waker) = waker {
            self.lock().insert(wait, waker.clone());
        }
        wait
    }

    /// Changes the task to wake, since another one waits now.
    pub(in crate::listen) fn hand_over(&self, wait: Wait, waker: &Waker) {
        if let Some(woken) = self.lock().get_mut(&wait) {
            woken.clone_from(waker);
        }
    }

    pub(in crate::listen) fn end(&self, wait: Wait) {
        self.lock().remove(&wait);
    }

    /// Ends the waits that began at `then` or before: their tasks are woken.
    pub(super) fn cut(&self, then: u32) {
        let last = Wait {
            since: then,
            number: u32::MAX,
        };
        let late: Vec<Waker> = self
            .lock()
            .range(..=last)
            .map(|(_, waker)| waker.clone())
            .collect();
        if !late.is_empty() {
            self.late.store(then, Relaxed);
            late.into_iter().for_each(Waker::wake);
        }
    }

    /// Whether what is awaited is late.
    pub(in crate::listen) fn is_late(&self, wait: Wait) -> bool {
        wait.since <= self.late.load(Relaxed)
    }

    /// Never contended: everything of a connection runs on one thread.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Wait, Waker>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
