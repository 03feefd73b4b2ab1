//! A request's content on its way to the origin: its limit, its trailers, and the memory it may take.

use crate::{
    ask::Ask,
    cache::Worker,
    error::Failure,
    listen::{Cut, RequestBody},
    policy::Policy,
    walk::outbound,
};
use bytes::Bytes;
use http::{HeaderMap, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Empty, LengthLimitError};
use rules::fields::forward_to;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(super) fn request_body(
    ask: &Ask,
    content: RequestBody,
) -> Result<origin::RequestBody, Failure> {
    if content.is_end_stream() {
        return Ok(Empty::<Bytes>::new()
            .map_err(|never| match never {})
            .boxed_unsync());
    }
    let most = ask.site.largest_request_body;
    if most.is_some_and(|most| content.size_hint().lower() > most) {
        return Err(Failure::BodyTooLarge);
    }
    Ok(Passed::of(ask, content, most).boxed_unsync())
}

/// More content came than the site allows.
#[derive(Debug, thiserror::Error)]
#[error("the content is longer than the site allows")]
struct TooLong;

/// Content up to its limit, with those of its trailers that the origin may get.
///
/// Its size is told as the client tells it: of content that is limited to nothing it is not known beforehand that there is
/// none.
struct Passed {
    content: RequestBody,
    /// How many bytes may still come. `None`: as many as there are.
    left: Option<u64>,
    /// What holds on its route. `None`: its trailers are those of HTTP/1.1, which `hyper` reads leniently. They are
    /// dropped (RFC 9110 section 6.5.1).
    policy: Option<Arc<Policy>>,
}

impl Passed {
    fn of(ask: &Ask, content: RequestBody, left: Option<u64>) -> Self {
        let policy = (ask.version == Version::HTTP_2).then(|| ask.policy().clone());
        Self {
            content,
            left,
            policy,
        }
    }

    /// Takes a frame out of what may come.
    fn take(&mut self, frame: &Frame<Bytes>) -> Result<(), TooLong> {
        if let (Some(left), Some(data)) = (&mut self.left, frame.data_ref()) {
            *left = left.checked_sub(data.len() as u64).ok_or(TooLong)?;
        }
        Ok(())
    }

    fn passed(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        let trailers = match frame.into_trailers() {
            Ok(trailers) => trailers,
            Err(data) => return data,
        };
        let mut forwarded = HeaderMap::new();
        if let Some(policy) = &self.policy {
            forward_to(&mut forwarded, &trailers, |name| {
                outbound::may_trail(policy, name)
            });
        }
        Frame::trailers(forwarded)
    }
}

impl Body for Passed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match ready!(Pin::new(&mut self.content).poll_frame(cx)) {
            None => return Poll::Ready(None),
            Some(Err(cut)) => return Poll::Ready(Some(Err(cut.into()))),
            Some(Ok(frame)) => frame,
        };
        Poll::Ready(Some(match self.take(&frame) {
            Ok(()) => Ok(self.passed(frame)),
            Err(long) => Err(long.into()),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

/// The memory that an origin may take for content that it cannot pass on as it comes.
pub(super) fn room(worker: &Worker) -> origin::Room {
    let memory = worker.cache.memory.clone();
    let mut held = memory.budget().reservation();
    Box::new(move |bytes| {
        let fits = held.grow(bytes);
        memory.make_room();
        fits
    })
}

/// Why sending the request's content failed, if that is why the request failed: it turned out to be longer than the
/// site allows, or did not come in time.
pub(super) fn cut(error: &origin::Error) -> Option<Failure> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        // The latter: the origin cannot take content of this length without being told it first.
        if error.is::<TooLong>() || error.is::<LengthLimitError>() {
            return Some(Failure::BodyTooLarge);
        }
        if let Some(Cut::Late) = error.downcast_ref() {
            return Some(Failure::BodyTooLate);
        }
        cause = error.source();
    }
    None
}
