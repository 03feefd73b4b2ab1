//! A breaker: keeps a server that fails from being asked for a while.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Failures in a row that open the breaker.
const FAILURES: u32 = 3;

/// The first pause. Each following one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long after a pause its probe is left to those who have something to ask.
const LEFT: Duration = Duration::from_secs(1);

/// Opens after [`FAILURES`] in a row. Then one probe is allowed after each pause, and its success closes the breaker.
#[derive(Debug)]
pub struct Breaker {
    /// Whether anything has failed since the last success. Every answer checks this.
    troubled: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    pause: Duration,
    probe_at: Instant,
}

/// Whether the server may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Yes.
    Granted,
    /// Yes, as a probe of whether it is back.
    Probe,
    /// No.
    Denied,
}

/// What a failure changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// The breaker has opened.
    Opened,
    /// The breaker was open, and a probe failed.
    StaysOpen,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            troubled: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }
}

impl Breaker {
    /// Whether the server may be asked now.
    pub fn permission(&self) -> Permission {
        if !self.troubled.load(Relaxed) {
            return Permission::Granted;
        }
        let mut state = self.state();
        let Some(open) = &mut state.open else {
            return Permission::Granted;
        };
        let now = Instant::now();
        if now < open.probe_at {
            return Permission::Denied;
        }
        // If the caller drops a probe, another follows.
        open.probe_at = now + open.pause;
        Permission::Probe
    }

    /// Whether to send the probe that nobody has been there to send for a while. For a caller who has nothing else to
    /// ask; the permission for it is [`Permission::Probe`].
    pub fn is_probe_left(&self) -> bool {
        if !self.troubled.load(Relaxed) {
            return false;
        }
        let mut state = self.state();
        let now = Instant::now();
        match &mut state.open {
            Some(open) if now >= open.probe_at + LEFT => {
                open.probe_at = now + open.pause;
                true
            }
            _ => false,
        }
    }

    /// Records that the server answered. Returns whether that closed the breaker.
    pub fn answered(&self) -> bool {
        if !self.troubled.load(Relaxed) {
            return false;
        }
        let mut state = self.state();
        self.troubled.store(false, Relaxed);
        state.failures = 0;
        state.open.take().is_some()
    }

    /// Records that the server failed, on this permission, in a way in which the next question would most likely fail
    /// too.
    pub fn failed(&self, permission: Permission) -> Change {
        let state = &mut *self.state();
        self.troubled.store(true, Relaxed);
        state.failures = state.failures.saturating_add(1);
        let now = Instant::now();
        match &mut state.open {
            // Questions that were sent before it opened say nothing new.
            Some(_) if permission != Permission::Probe => Change::None,
            Some(open) => {
                open.pause = (open.pause * 2).min(LONGEST_PAUSE);
                open.probe_at = now + open.pause;
                Change::StaysOpen
            }
            None if state.failures >= FAILURES => {
                state.open = Some(Open {
                    pause: FIRST_PAUSE,
                    probe_at: now + FIRST_PAUSE,
                });
                Change::Opened
            }
            None => Change::None,
        }
    }

    /// Whether the breaker is open: the server gets probes at most.
    pub fn is_open(&self) -> bool {
        self.troubled.load(Relaxed) && self.state().open.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn it_opens_probes_and_closes() {
        let breaker = Breaker::default();
        assert_eq!(breaker.permission(), Permission::Granted);
        assert_eq!(breaker.failed(Permission::Granted), Change::None);
        assert!(!breaker.answered(), "one failure is forgotten");
        assert_eq!(breaker.failed(Permission::Granted), Change::None);
        assert_eq!(breaker.failed(Permission::Granted), Change::None);
        assert_eq!(breaker.failed(Permission::Granted), Change::Opened);
        assert_eq!(breaker.permission(), Permission::Denied);
        assert_eq!(
            breaker.failed(Permission::Granted),
            Change::None,
            "asked before it opened"
        );

        advance(FIRST_PAUSE).await;
        assert_eq!(breaker.permission(), Permission::Probe);
        assert_eq!(
            breaker.permission(),
            Permission::Denied,
            "one probe at a time"
        );
        assert_eq!(breaker.failed(Permission::Probe), Change::StaysOpen);
        advance(FIRST_PAUSE).await;
        assert_eq!(
            breaker.permission(),
            Permission::Denied,
            "the pause has grown"
        );
        advance(FIRST_PAUSE).await;
        assert_eq!(breaker.permission(), Permission::Probe);
        assert!(breaker.is_open());
        assert!(breaker.answered(), "that closes it");
        assert_eq!(
            (breaker.permission(), breaker.is_open()),
            (Permission::Granted, false)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_nobody_asks_for_is_left_to_who_has_nothing_to_ask() {
        let breaker = Breaker::default();
        assert!(!breaker.is_probe_left());
        for _ in 0..FAILURES {
            breaker.failed(Permission::Granted);
        }
        advance(LEFT).await;
        assert!(!breaker.is_probe_left(), "the pause has just passed");
        advance(FIRST_PAUSE).await;
        assert!(breaker.is_probe_left());
        assert!(!breaker.is_probe_left(), "one at a time");
        breaker.failed(Permission::Probe);
        advance(LEFT).await;
        assert_eq!(
            breaker.permission(),
            Permission::Probe,
            "somebody has to ask"
        );
        assert!(!breaker.is_probe_left());
        advance(LEFT + FIRST_PAUSE * 2).await;
        assert!(breaker.is_probe_left());
        assert!(breaker.answered() && !breaker.is_probe_left());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_bound_and_a_probe_that_is_dropped_is_followed_by_another() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.failed(Permission::Granted);
        }
        for _ in 0..20 {
            advance(LONGEST_PAUSE).await;
            assert_eq!(breaker.permission(), Permission::Probe);
            breaker.failed(Permission::Probe);
        }
        advance(LONGEST_PAUSE).await;
        assert_eq!(breaker.permission(), Permission::Probe);
        advance(LONGEST_PAUSE).await;
        assert_eq!(breaker.permission(), Permission::Probe);
    }
}
