//! The body of an answer that `hyper` sends: the service's, or a short text of ours.

use super::in_flight::{InFlight, Owed};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project_lite::pin_project! {
    /// A body that keeps its request in flight until `hyper` drops it.
    pub(super) struct AnswerBody<B> {
        #[pin]
        source: Either<B, Full<Bytes>>,
        // Whether it waits for the client.
        owed: Owed,
    }
}

impl<B> AnswerBody<B> {
    /// The body of an answer from the service.
    pub(super) fn served(body: B, in_flight: InFlight) -> Self {
        Self {
            source: Either::Left(body),
            owed: Owed::new(in_flight),
        }
    }

    /// The body of an answer of our own.
    pub(super) fn own(text: Bytes, in_flight: InFlight) -> Self {
        Self {
            source: Either::Right(Full::new(text)),
            owed: Owed::new(in_flight),
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
        body.owed.set(false);
        let frame = ready!(body.source.as_mut().poll_frame(cx));
        let goes_on = matches!(frame, Some(Ok(_))) && !body.source.is_end_stream();
        body.owed.set(goes_on);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.source.size_hint()
    }
}
