//! Waiting for a response's head, and whom to blame when none comes.

use crate::{
    Error, Kind,
    link::{Alarm, has_rung},
    upload::{Awaited, Outgoing, Upload},
};
use http::Request;
use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// The time limits until a head.
pub(crate) struct Wait {
    first_byte: Duration,
    /// When the whole exchange must have ended.
    until: Option<Instant>,
    /// When to look whether a limit ran out.
    due: Instant,
    upload: Upload,
}

/// Why no head came.
pub(crate) enum Lost {
    /// The request came back: nothing of it was sent.
    Unsent(Box<Request<Outgoing>>, Error),
    /// Some of it may have been sent.
    Sent(Error),
    /// A limit ran out.
    Late(Kind),
}

impl Wait {
    /// The wait begins `now`.
    pub(crate) fn new(
        first_byte: Duration,
        until: Option<Instant>,
        upload: Upload,
        now: Instant,
    ) -> Self {
        let mut wait = Self {
            first_byte,
            until,
            due: now,
            upload,
        };
        wait.due = wait.ring(now);
        wait
    }

    /// Has `alarm` ring in time. One that rings earlier stays as it is, since setting it costs more than looking once in vain:
    /// most heads come long before.
    pub(crate) fn begin(&self, alarm: &mut Alarm) {
        if alarm.is_elapsed() || alarm.deadline() > self.due {
            alarm.as_mut().reset(self.due);
        }
    }

    /// Nothing has come: looks whether a limit ran out. The time for the first byte runs anew while the upload moves, and does
    /// not run while the client is slow.
    pub(crate) fn poll(&mut self, alarm: &mut Alarm, cx: &mut Context<'_>) -> Poll<Kind> {
        while has_rung(alarm, cx) {
            let now = Instant::now();
            if now >= self.due {
                match self.from(now) {
                    Ok(from) => self.due = self.ring(from),
                    Err(kind) => return Poll::Ready(kind),
                }
            }
            alarm.as_mut().reset(self.due);
        }
        Poll::Pending
    }

    /// Waits for what sends a request and reads the head.
    pub(crate) async fn head<T>(
        mut self,
        sending: impl Future<Output = Result<T, Lost>>,
        alarm: &mut Alarm,
    ) -> Result<T, Lost> {
        let mut sending = pin!(sending);
        self.begin(alarm);
        let outcome = poll_fn(|cx| match sending.as_mut().poll(cx) {
            Poll::Ready(outcome) => Poll::Ready(Ok(outcome)),
            Poll::Pending => self.poll(alarm, cx).map(Err),
        });
        match outcome.await {
            Ok(Err(Lost::Sent(error))) if self.upload.has_failed() => {
                Err(Lost::Sent(Error::new(Kind::RequestBody).because(error)))
            }
            Ok(outcome) => outcome,
            Err(kind) => Err(Lost::Late(kind)),
        }
    }

    /// When to look at the clock next; never at once, lest a limit of nothing keep the worker busy.
    fn ring(&self, now: Instant) -> Instant {
        let first_byte = now + self.first_byte.max(Duration::from_millis(1));
        self.until.map_or(first_byte, |until| first_byte.min(until))
    }

    /// From when on the time for the first byte runs, now that it was time to look.
    ///
    /// # Errors
    /// The limit that ran out.
    fn from(&self, now: Instant) -> Result<Instant, Kind> {
        if self.until.is_some_and(|until| now >= until) {
            return Err(Kind::WholeTimeout);
        }
        match self.upload.awaited() {
            Awaited::Client => Ok(now),
            Awaited::Server(Some(since)) if now < self.ring(since) => Ok(since),
            Awaited::Server(_) => Err(Kind::FirstByteTimeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;
    use http_body_util::{BodyExt, Full};
    use std::{pin::Pin, task::Waker};

    #[test]
    fn the_time_for_the_first_byte_counts_from_the_last_piece_of_the_upload() {
        let content = Full::new(bytes::Bytes::from("all of it")).map_err(|never| match never {});
        let mut outgoing = Outgoing::new(crate::RequestBody::new(content));
        let request = |body| {
            let mut request = Request::new(Outgoing::empty());
            *request.body_mut() = body;
            request
        };
        let polled = Pin::new(&mut outgoing).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
        let (limit, began) = (Duration::from_secs(10), Instant::now());
        let upload = Upload::of(&request(outgoing));
        let wait = Wait::new(limit, None, upload, began);
        let early = wait.from(began + limit / 2);
        assert!(early.is_ok_and(|from| from <= began), "{early:?}");
        let late = wait.from(began + limit + Duration::from_secs(1));
        assert_eq!(late, Err(Kind::FirstByteTimeout));
    }
}
