//! A script's output as the body of a response.

use super::{
    exchange::Exchange,
    record::{Ended, Event},
};
use crate::{Error, Kind, Lifetime, fetch_guard::FetchGuard, pool::Single};
use bytes::Bytes;
use http::{Response, StatusCode, header::CONTENT_LENGTH};
use http_body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// A body that ends when the request does. If it is read to its end, the connection returns to the pool of the worker
/// that read it.
pub(crate) struct Output {
    exchange: Exchange,
    status: StatusCode,
    /// What is left of the length that the script announced.
    left: Option<u64>,
    /// Whether there is no content, whatever the script writes.
    bodiless: bool,
    /// Whether what PHP has to say of a script that broke off is sent as it is.
    shown: bool,
    /// `None`: the body has ended, well or badly.
    guard: Option<FetchGuard>,
    /// What had moved when the alarm was last set (`Exchange::alarm`).
    moved: Option<u64>,
}

impl Output {
    /// Makes the body. Fails if the whole response is here and something is wrong with it. A page in which the script
    /// broke off is sent as far as it came, and breaks off there: its author wants to see it, and nobody takes it for
    /// whole.
    pub(crate) fn new(
        response: &Response<()>,
        exchange: Exchange,
        guard: FetchGuard,
    ) -> Result<Self, Error> {
        let status = response.status();
        let length = response.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let bodiless = exchange.is_head()
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        let mut body = Self {
            exchange,
            status,
            left: length.filter(|_| !bodiless),
            bodiless,
            shown: !bodiless && response.extensions().get() == Some(&Lifetime::Never),
            guard: Some(guard),
            moved: None,
        };
        if bodiless {
            // Nobody needs what was written all the same, or waits for it.
            body.discard();
        }
        if body.shown {
            body.settle();
            return Ok(body);
        }
        let broke_off = body.exchange.broke_off(status, false);
        broke_off.map_err(|error| body.fail(error))?;
        if let Some(ended) = body.exchange.ended() {
            let there = body.exchange.ahead();
            let judged = body.judged(ended, body.left.map(|left| left.saturating_sub(there)));
            judged.map_err(|error| body.fail(error))?;
        }
        body.settle();
        Ok(body)
    }

    fn discard(&mut self) {
        while let Some(Event::Output(_)) = self.exchange.take_ahead() {}
        if self.exchange.is_at_end().is_none() {
            self.guard = None;
        }
    }

    /// Ends the body as soon as its last piece is out, if the request ended well.
    fn settle(&mut self) {
        if let Some(ended) = self.exchange.is_at_end()
            && self.judged(ended, self.left).is_ok()
        {
            self.finish();
        }
    }

    /// Ends the request. The connection may serve the next one.
    fn finish(&mut self) {
        let link = self.exchange.release();
        if let Some(guard) = self.guard.take() {
            guard.end(link.map(Single::FastCgi));
        }
    }

    /// Ends the body without waiting for the end of the request: what the script announced is here. Scripts write a blank
    /// line behind it, or count characters for bytes.
    fn leave(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.end(None);
        }
    }

    /// Whether everything has come, if `left` bytes of a known length are missing.
    fn judged(&self, ended: Ended, left: Option<u64>) -> Result<(), Error> {
        if left.is_some_and(|left| left > 0) {
            return Err(Error::new(Kind::Truncated));
        }
        self.exchange.broke_off(self.status, self.shown)?;
        let failed = ended.application != 0 || ended.protocol != 0;
        // If the length is known, all of it is here.
        if failed && left.is_none() && !self.bodiless && !self.status.is_server_error() {
            let status = ended.application;
            let why = format!("the script ended with status {status}");
            return Err(Error::new(Kind::Truncated).because(why));
        }
        Ok(())
    }

    /// Fails the body. The connection closes, and the server is blamed if it is at fault.
    fn fail(&mut self, error: Error) -> Error {
        match self.guard.take() {
            Some(guard) => guard.blame(error),
            None => error,
        }
    }

    fn take(&mut self, event: Event) -> Result<Option<Bytes>, Error> {
        match event {
            Event::Output(mut piece) => {
                if let Some(left) = &mut self.left {
                    let all = piece.len();
                    piece.truncate(usize::try_from(*left).unwrap_or(all));
                    *left -= piece.len() as u64;
                    if piece.len() < all {
                        self.leave();
                        return Ok(Some(piece));
                    }
                }
                self.settle();
                if let Some(guard) = &self.guard
                    && !self.is_complete()
                {
                    guard.pace.check()?;
                }
                Ok(Some(piece))
            }
            Event::End(ended) => {
                self.judged(ended, self.left)?;
                self.finish();
                Ok(None)
            }
            Event::Complaint(_) => Ok(Some(Bytes::new())),
        }
    }

    /// Checks whether a limit has run out. Called when nothing has come.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let awaited = self.exchange.awaited();
        let (Some(guard), Some((alarm, moved))) = (&self.guard, self.exchange.alarm()) else {
            return Poll::Pending;
        };
        let moved = self.moved.replace(moved) != Some(moved);
        guard.pace.poll_beside(awaited, alarm, moved, cx)
    }

    /// Whether everything that the script announced is here. What happens until the request's end then does no harm.
    fn is_complete(&self) -> bool {
        self.left == Some(0)
    }
}

impl Body for Output {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if this.guard.is_none() {
            return Poll::Ready(None);
        }
        let polled = match this.exchange.poll_output(cx) {
            Poll::Pending => this.poll_alarm(cx).map(Err),
            polled @ Poll::Ready(_) => polled,
        };
        let Poll::Ready(event) = polled else {
            return Poll::Pending;
        };
        Poll::Ready(match event {
            Err(_) if this.is_complete() => {
                this.leave();
                None
            }
            event => match event.and_then(|event| this.take(event)) {
                Ok(piece) => piece.map(|piece| Ok(Frame::data(piece))),
                Err(error) => Some(Err(this.fail(error))),
            },
        })
    }

    fn is_end_stream(&self) -> bool {
        self.guard.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.left {
            _ if self.guard.is_none() => SizeHint::with_exact(0),
            Some(left) => SizeHint::with_exact(left),
            None => SizeHint::default(),
        }
    }
}
