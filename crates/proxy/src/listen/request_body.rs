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
    incoming: Incoming,
    /// Whom to tell that we wait; nobody where there is no content.
    watch: Option<Arc<Watch>>,
    awaited: bool,
    ended: bool,
}

impl RequestBody {
    pub(super) fn empty(incoming: Incoming) -> Self {
        Self {
            incoming,
            watch: None,
            awaited: false,
            ended: true,
        }
    }

    pub(super) fn watched(incoming: Incoming, watch: Arc<Watch>) -> Self {
        Self {
            incoming,
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
        let polled = Pin::new(&mut self.incoming).poll_frame(cx);
        self.await_more(polled.is_pending());
        self.ended |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.await_more(false);
        let ended = self.ended || self.incoming.is_end_stream();
        if let Some(watch) = self.watch.as_ref().filter(|_| !ended) {
            watch.leave_unread();
        }
    }
}
