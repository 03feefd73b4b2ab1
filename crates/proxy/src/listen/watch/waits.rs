//! What is waited for of clients, of which a connection of HTTP/2 has several at once: each has its own time.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::Waker,
};

/// A wait. The longest is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::listen) struct Wait {
    /// When it began.
    since: u32,
    /// Which of those it is that began then.
    number: u32,
}

/// The waits of one kind.
#[derive(Debug, Default)]
pub(in crate::listen) struct Waits {
    /// Those of HTTP/2, and whom to wake.
    all: Mutex<BTreeMap<Wait, Waker>>,
    /// Numbers them.
    number: AtomicU32,
    /// What began then or before is late; 0: nothing is.
    late: AtomicU32,
}

impl Waits {
    /// A wait that begins `now`. Who is to be woken where it takes too long; `None`: the connection ends.
    pub(in crate::listen) fn begin(&self, now: u32, waker: Option<&Waker>) -> Wait {
        let number = self.number.fetch_add(1, Relaxed);
        let wait = Wait { since: now, number };
        if let Some(waker) = waker {
            self.lock().insert(wait, waker.clone());
        }
        wait
    }

    /// Another is to be woken: who waits has changed hands.
    pub(in crate::listen) fn hand_over(&self, wait: Wait, waker: &Waker) {
        if let Some(woken) = self.lock().get_mut(&wait) {
            woken.clone_from(waker);
        }
    }

    pub(in crate::listen) fn end(&self, wait: Wait) {
        self.lock().remove(&wait);
    }

    /// Ends the waits that began `then` or before: who waits is woken.
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

    /// Whether what is waited for is late.
    pub(in crate::listen) fn is_late(&self, wait: Wait) -> bool {
        wait.since <= self.late.load(Relaxed)
    }

    /// Nobody else waits for it: all of a connection runs on one thread.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Wait, Waker>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
