//! The graceful stop: one switch, seen by all accept loops.

use std::time::Duration;
use tokio::{sync::watch, time::Instant};

/// Longer than anything lasts.
const EVER: Duration = Duration::from_hours(24 * 365);

/// Returns a switch and the handle on which accept loops wait.
pub fn drain() -> (DrainSwitch, Drain) {
    let (sender, receiver) = watch::channel(None);
    (DrainSwitch(sender), Drain(receiver))
}

/// Starts the stop. Dropping it unused changes nothing. Clones start the same stop.
#[derive(Clone, Debug)]
pub struct DrainSwitch(watch::Sender<Option<Instant>>);

impl DrainSwitch {
    /// Stops accepting at once, lets requests in flight finish, and ends what still runs after `within`. A second call
    /// moves the deadline.
    pub fn start(&self, within: Duration) {
        self.0.send_replace(Some(Instant::now() + within));
    }

    /// As [`start`](Self::start), but with as much time as requests in flight take.
    pub fn start_without_haste(&self) {
        self.start(EVER);
    }

    /// As [`start`](Self::start), but keeps a deadline that is sooner.
    pub fn hasten(&self, within: Duration) {
        let at = Instant::now() + within;
        self.0
            .send_modify(|until| *until = Some(until.map_or(at, |until| until.min(at))));
    }

    /// Whether the accept loops have ended: none waits on the switch.
    pub fn is_over(&self) -> bool {
        self.0.receiver_count() == 0
    }
}

/// An accept loop's handle of the switch; cheap to clone.
#[derive(Clone, Debug)]
pub struct Drain(watch::Receiver<Option<Instant>>);

impl Drain {
    /// Waits for the next `start` and returns the deadline. Waits for ever once the switch is gone.
    pub(super) async fn changed(&mut self) -> Instant {
        loop {
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(deadline) = *self.0.borrow_and_update() {
                return deadline;
            }
        }
    }

    /// The deadline, if `start` was called before this handle began to wait.
    pub(super) fn now(&mut self) -> Option<Instant> {
        *self.0.borrow_and_update()
    }
}
