//! The wait for a response's head, and who is to blame if none comes.

use super::link::{Hunger, Hungry, Link};
use crate::{Error, Kind, link::has_rung, upload::Awaited};
use std::{
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// How long a request on a new connection gets no byte before it counts as waiting for a process of the server.
const PATIENCE: Duration = Duration::from_millis(50);

/// The time limits until the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) first_byte: Duration,
    /// When the whole exchange must have ended.
    pub(crate) until: Option<Instant>,
}

/// One wait.
pub(crate) struct Wait {
    limits: Limits,
    stage: Stage,
    /// From when the time for the first byte counts, as far as is known.
    since: Instant,
}

enum Stage {
    /// The alarm is not set.
    Begun,
    /// It rings when patience ends.
    Patient,
    /// It rings when the limit may have run out.
    Limited { _hungry: Option<Hungry> },
}

impl Wait {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            stage: Stage::Begun,
            since: Instant::now(),
        }
    }

    /// Checks whether a limit has run out. Called when nothing has come. The time for the first byte starts anew while
    /// the request moves, and stands still while the client is slow.
    pub(crate) fn poll(
        &mut self,
        link: &mut Link,
        awaited: Awaited,
        cx: &mut Context<'_>,
    ) -> Poll<Error> {
        loop {
            if let Stage::Begun = self.stage {
                let patience = PATIENCE.min(self.limits.first_byte);
                self.set(link, self.since + patience);
                self.stage = Stage::Patient;
            }
            if !has_rung(&mut link.alarm, cx) {
                return Poll::Pending;
            }
            let now = Instant::now();
            if self.limits.until.is_some_and(|until| now >= until) {
                return Poll::Ready(Error::new(Kind::WholeTimeout));
            }
            if let Stage::Patient = self.stage {
                let waits = !link.reused && link.heard() == 0;
                let hungry = waits.then(|| Hunger::feel(&link.peer));
                self.stage = Stage::Limited { _hungry: hungry };
            }
            self.since = match awaited {
                Awaited::Client => now,
                Awaited::Server(sent) => sent.map_or(self.since, |sent| sent.max(self.since)),
            };
            // Never at once, so that a limit of zero does not keep the worker busy.
            let ring = self.since + self.limits.first_byte.max(Duration::from_millis(1));
            if now >= ring {
                return Poll::Ready(Error::new(Kind::FirstByteTimeout));
            }
            self.set(link, ring);
        }
    }

    fn set(&self, link: &mut Link, ring: Instant) {
        let until = self.limits.until;
        let ring = until.map_or(ring, |until| ring.min(until));
        link.alarm.as_mut().reset(ring);
    }
}
