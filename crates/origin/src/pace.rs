//! The time limits on a response's body, wherever it comes from.

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

/// Whether the server is to blame for a body that broke. If the whole takes too long, the reader may just as well be
/// the cause.
pub(crate) fn is_the_servers(kind: Kind) -> bool {
    kind.is_the_servers() && kind != Kind::WholeTimeout
}

/// The time limits of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    between_bytes: Duration,
    until: Option<Instant>,
}

impl Pace {
    /// Makes the limits. `until` is when the whole exchange must have ended.
    pub(crate) fn new(timeouts: &Timeouts, until: Option<Instant>) -> Self {
        Self {
            between_bytes: timeouts.between_bytes,
            until,
        }
    }

    /// Checks whether a limit has run out. Called when nothing has come. Sets the alarm again only if something has
    /// `moved` since it was set.
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

    /// Like `poll`, beside an upload. The limit between bytes does not run out while the client is slow with its own
    /// content, because the server may be waiting for that.
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

    /// Whether we wait, or waited a moment ago, for the client and not for the server.
    fn excuses(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Client => true,
            Awaited::Server(since) => {
                since.is_some_and(|since| since.elapsed() < self.between_bytes)
            }
        }
    }

    /// Checks the limit on the whole when something has come: a body that never pauses must end in time as well.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Error::new(Kind::WholeTimeout));
        }
        Ok(())
    }
}
