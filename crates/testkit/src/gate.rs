//! Gates: the order of things, decided by the test.

use crate::BOUND;
use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// A place where a script stops until the test lets it go on. Clones are the same gate. Once open it stays open.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    inner: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    reached: usize,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.change(|state| state.open = true);
    }

    /// Waits until somebody has come to this gate.
    pub fn wait_reached(&self) {
        self.wait_reached_by(1);
    }

    /// Waits until so many have come to this gate.
    pub fn wait_reached_by(&self, count: usize) {
        self.wait(&format!("{count} to reach a gate"), |state| {
            state.reached >= count
        });
    }

    /// How many have come to this gate so far.
    pub fn reached(&self) -> usize {
        self.inner
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .reached
    }

    /// Comes to the gate and waits until it is open.
    pub fn pass(&self) {
        self.change(|state| state.reached += 1);
        self.wait("a gate to be opened", |state| state.open);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.inner.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.inner.1.notify_all();
    }

    fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let state = self.inner.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = self
            .inner
            .1
            .wait_timeout_while(state, BOUND, |state| !done(state))
            .unwrap_or_else(PoisonError::into_inner);
        let reached = done(&state);
        drop(state);
        assert!(reached, "waited {BOUND:?} for {what}");
    }
}

/// The shortest pause between two looks of [`wait_until`].
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Waits until `condition` holds, asking again and again. For what is visible only from outside (counters, metrics, the
/// end of a background fetch); `what` completes the sentence "waited 10 s until …". The longer it has waited the
/// seldomer it asks, so that asking does not keep what it waits for from being done.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < BOUND, "waited {BOUND:?} until {what}");
        let pause = begun.elapsed() / 16;
        thread::sleep(pause.clamp(FIRST_PAUSE, LONGEST_PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_holds_until_it_is_opened() {
        let (gate, behind) = (Gate::new(), Gate::new());
        let other = (gate.clone(), behind.clone());
        let thread = thread::spawn(move || {
            other.0.pass();
            other.1.pass();
        });
        gate.wait_reached();
        assert_eq!((gate.reached(), behind.reached()), (1, 0));
        gate.open();
        behind.wait_reached();
        behind.open();
        thread.join().unwrap();
    }

    #[test]
    fn wait_until_asks_again() {
        let mut asked = 0;
        wait_until("it was asked three times", || {
            asked += 1;
            asked == 3
        });
    }
}
