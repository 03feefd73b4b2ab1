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
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use rules::fields::forward_to;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

pub(super) fn request_body(
    ask: &Ask,
    content: RequestBody,
) -> Result<origin::RequestBody, Failure> {
    if content.is_end_stream() {
        return Ok(Empty::<Bytes>::new()
            .map_err(|never| match never {})
            .boxed_unsync());
    }
    let content = Passed::of(ask, content);
    let Some(most) = ask.site.largest_request_body else {
        return Ok(content.map_err(Into::into).boxed_unsync());
    };
    // Of content that is limited to nothing, `Limited` would say that there is none.
    if content.size_hint().lower() > most || most == 0 {
        return Err(Failure::BodyTooLarge);
    }
    Ok(Limited::new(content, usize::try_from(most).unwrap_or(usize::MAX)).boxed_unsync())
}

/// Content with those of its trailers that the origin may get.
struct Passed {
    content: RequestBody,
    /// What holds on its route. `None`: its trailers are those of HTTP/1.1, which `hyper` reads leniently. They are
    /// dropped (RFC 9110 section 6.5.1).
    policy: Option<Arc<Policy>>,
}

impl Passed {
    fn of(ask: &Ask, content: RequestBody) -> Self {
        let policy = (ask.version == Version::HTTP_2).then(|| ask.policy().clone());
        Self { content, policy }
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
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let polled = Pin::new(&mut self.content).poll_frame(cx);
        polled.map(|frame| Some(frame?.map(|frame| self.passed(frame))))
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
        if error.is::<LengthLimitError>() {
            return Some(Failure::BodyTooLarge);
        }
        if let Some(Cut::Late) = error.downcast_ref() {
            return Some(Failure::BodyTooLate);
        }
        cause = error.source();
    }
    None
}
