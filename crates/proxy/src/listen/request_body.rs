//! The content of a request, under the time limit between its pieces.

use super::watch::Watch;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// The content of a request as it comes. An error is the client's: it left, or framed the content wrongly (RFC 9112 section 7.1),
/// which deserves a 400.
#[derive(Debug)]
pub struct RequestBody {
    /// `None`: there is no content, and no connection it could come from.
    incoming: Option<Incoming>,
    /// Whom to tell that we wait; nobody where there is no content.
    watch: Option<Arc<Watch>>,
    awaited: bool,
    ended: bool,
    /// What was read of it already, to be read again first.
    front: Bytes,
}

impl RequestBody {
    /// Puts back what was read of it, all of it until now.
    pub(crate) fn put_back(&mut self, front: Bytes) {
        self.front = front;
    }

    /// No content, of a request of our own.
    pub(crate) fn none() -> Self {
        Self {
            incoming: None,
            watch: None,
            awaited: false,
            ended: true,
            front: Bytes::new(),
        }
    }

    pub(super) fn empty(incoming: Incoming) -> Self {
        Self {
            incoming: Some(incoming),
            watch: None,
            awaited: false,
            ended: true,
            front: Bytes::new(),
        }
    }

    pub(super) fn watched(incoming: Incoming, watch: Arc<Watch>) -> Self {
        Self {
            incoming: Some(incoming),
            watch: Some(watch),
            awaited: false,
            ended: false,
            front: Bytes::new(),
        }
    }

    fn await_more(&mut self, awaited: bool) {
        if let Some(watch) = &self.watch
            && awaited != self.awaited
        {
            self.awaited = awaited;
            watch.await_body(awaited);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if !self.front.is_empty() {
            let front = std::mem::take(&mut self.front);
            return Poll::Ready(Some(Ok(Frame::data(front))));
        }
        let Some(incoming) = &mut self.incoming else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(incoming).poll_frame(cx);
        self.await_more(polled.is_pending());
        self.ended |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.front.is_empty() && self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        let rest = self.incoming.as_ref().map_or_else(none, Body::size_hint);
        let front = self.front.len() as u64;
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(front)) {
            hint.set_upper(upper);
        }
        hint.set_lower(
            rest.lower()
                .saturating_add(front)
                .min(hint.upper().unwrap_or(u64::MAX)),
        );
        hint
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.await_more(false);
        let ended = self.ended || self.is_end_stream();
        if let Some(watch) = self.watch.as_ref().filter(|_| !ended) {
            watch.leave_unread();
        }
    }
}
