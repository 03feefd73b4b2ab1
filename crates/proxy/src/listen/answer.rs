//! The body of an answer on its way out: the service's, or a few words of ours.

use super::in_flight::InFlight;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use std::{
    error::Error,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Bytes that are given to HTTP/2 at a time: of these something must be taken in time, whatever the connection carries beside them.
const PIECE: usize = 64 * 1024;

pin_project_lite::pin_project! {
    /// Keeps its request in flight until `hyper` drops it.
    pub(super) struct AnswerBody<B> {
        #[pin]
        source: Either<B, Full<Bytes>>,
        // What came in one piece that was too large.
        rest: Bytes,
        in_flight: InFlight,
    }
}

impl<B: Body<Data = Bytes>> AnswerBody<B> {
    /// The service's body.
    pub(super) fn served(body: B, mut in_flight: InFlight) -> Self {
        if body.is_end_stream() {
            in_flight.finish();
        }
        Self {
            source: Either::Left(body),
            rest: Bytes::new(),
            in_flight,
        }
    }

    /// Our own words.
    pub(super) fn own(text: Bytes, mut in_flight: InFlight) -> Self {
        in_flight.finish();
        Self {
            source: Either::Right(Full::new(text)),
            rest: Bytes::new(),
            in_flight,
        }
    }
}

impl<B> Body for AnswerBody<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let mut body = self.project();
        body.in_flight.taken();
        let polled = if body.rest.is_empty() {
            body.source.as_mut().poll_frame(cx)
        } else {
            Poll::Ready(Some(Ok(Frame::data(mem::take(body.rest)))))
        };
        let mut frame = ready!(polled);
        if body.in_flight.is_one_of_many()
            && let Some(Ok(given)) = &mut frame
            && let Some(piece) = given.data_mut()
            && piece.len() > PIECE
        {
            *body.rest = piece.split_off(PIECE);
        }
        let is_last = body.rest.is_empty() && body.source.is_end_stream();
        let gives = matches!(frame, Some(Ok(_)));
        if gives {
            body.in_flight.gave(cx.waker(), is_last);
        }
        if !gives || is_last {
            body.in_flight.finish();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.source.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}
