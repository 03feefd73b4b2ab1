//! The wait for a response's head, and who is to blame if none comes.

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

/// The time limits until the head.
pub(crate) struct Wait {
    first_byte: Duration,
    /// When the whole exchange must have ended.
    until: Option<Instant>,
    /// When to check next whether a limit has run out.
    due: Instant,
    upload: Upload,
}

/// Why no head came.
pub(crate) enum Lost {
    /// The request came back: nothing of it was sent, or the server had not begun with it.
    Unsent(Box<Request<Outgoing>>, Error),
    /// Some of it may have been sent.
    Sent(Error),
    /// A limit ran out.
    Late(Kind),
}

impl Wait {
    /// Makes a wait that begins `now`.
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

    /// Sets `alarm` to ring in time. One that rings earlier stays as it is, because setting it costs more than one
    /// useless check: most heads come long before.
    pub(crate) fn begin(&self, alarm: &mut Alarm) {
        if alarm.is_elapsed() || alarm.deadline() > self.due {
            alarm.as_mut().reset(self.due);
        }
    }

    /// Checks whether a limit has run out. Called when nothing has come. The time for the first byte starts anew while
    /// the upload moves, and stands still while the client is slow.
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

    /// Waits for `sending`, which sends a request and reads the head.
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

    /// Returns when to check the clock next. Never at once, so that a limit of zero does not keep the worker busy.
    fn ring(&self, now: Instant) -> Instant {
        let first_byte = now + self.first_byte.max(Duration::from_millis(1));
        self.until.map_or(first_byte, |until| first_byte.min(until))
    }

    /// Returns from when the time for the first byte counts. Called when a check is due.
    ///
    /// # Errors
    /// The limit that has run out.
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
