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
}

impl RequestBody {
    /// No content, of a request of our own.
    pub(crate) fn none() -> Self {
        Self {
            incoming: None,
            watch: None,
            awaited: false,
            ended: true,
        }
    }

    pub(super) fn empty(incoming: Incoming) -> Self {
        Self {
            incoming: Some(incoming),
            watch: None,
            awaited: false,
            ended: true,
        }
    }

    pub(super) fn watched(incoming: Incoming, watch: Arc<Watch>) -> Self {
        Self {
            incoming: Some(incoming),
            watch: Some(watch),
            awaited: false,
            ended: false,
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
        let Some(incoming) = &mut self.incoming else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(incoming).poll_frame(cx);
        self.await_more(polled.is_pending());
        self.ended |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.incoming.as_ref().map_or_else(none, Body::size_hint)
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
