//! The body of an answer on its way out: the service's, or a few words of ours.

use super::service::InFlight;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project_lite::pin_project! {
    /// Keeps its request in flight until `hyper` drops it.
    pub(super) struct AnswerBody<B> {
        #[pin]
        source: Either<B, Full<Bytes>>,
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
            in_flight,
        }
    }

    /// Our own words.
    pub(super) fn own(text: Bytes, mut in_flight: InFlight) -> Self {
        in_flight.finish();
        Self {
            source: Either::Right(Full::new(text)),
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
        let polled = body.source.as_mut().poll_frame(cx);
        if polled.is_pending() {
            body.in_flight.owe(false);
        }
        let frame = ready!(polled);
        let more = matches!(frame, Some(Ok(_))) && !body.source.is_end_stream();
        body.in_flight.owe(more);
        if !more {
            body.in_flight.finish();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.source.size_hint()
    }
}
