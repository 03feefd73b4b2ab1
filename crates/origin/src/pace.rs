//! The limits of time on a response's body, wherever it comes from.

use crate::{
    Error, Kind,
    config::Timeouts,
    link::{Alarm, has_rung},
    upload::Awaited,
};
use std::{
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// Whether the server is to blame for a body that broke. Where all of it takes too long, that may as well be whoever reads it.
pub(crate) fn is_the_servers(kind: Kind) -> bool {
    kind.is_the_servers() && kind != Kind::WholeTimeout
}

/// How long a body may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    between_bytes: Duration,
    until: Option<Instant>,
}

impl Pace {
    /// `until`: when the whole exchange must have ended.
    pub(crate) fn new(timeouts: &Timeouts, until: Option<Instant>) -> Self {
        Self {
            between_bytes: timeouts.between_bytes,
            until,
        }
    }

    /// Nothing has come: looks whether a limit ran out. The alarm is set again only if something `moved` since it was.
    pub(crate) fn poll(&self, alarm: &mut Alarm, moved: bool, cx: &mut Context<'_>) -> Poll<Error> {
        if moved {
            let ring = Instant::now() + self.between_bytes;
            let ring = self.until.map_or(ring, |until| ring.min(until));
            alarm.as_mut().reset(ring);
        }
        if !has_rung(alarm, cx) {
            return Poll::Pending;
        }
        let late = self.check().err();
        Poll::Ready(late.unwrap_or_else(|| Error::new(Kind::BetweenBytesTimeout)))
    }

    /// The same beside an upload. No limit runs out between two bytes while the client is slow with its own, which the server may wait for.
    pub(crate) fn poll_beside(
        &self,
        awaited: Awaited,
        alarm: &mut Alarm,
        moved: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Error> {
        match self.poll(alarm, moved, cx) {
            Poll::Ready(late)
                if late.kind() == Kind::BetweenBytesTimeout && self.excuses(awaited) =>
            {
                self.poll(alarm, true, cx)
            }
            polled => polled,
        }
    }

    /// Whether the client is waited for, or was a moment ago, and not the server.
    fn excuses(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Client => true,
            Awaited::Server(since) => {
                since.is_some_and(|since| since.elapsed() < self.between_bytes)
            }
        }
    }

    /// Something has come: a body that never pauses must end in time all the same.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Error::new(Kind::WholeTimeout));
        }
        Ok(())
    }
}
