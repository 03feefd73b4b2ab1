//! Where the content of a request comes from: `hyper` over HTTP/1, a stream of `h2` over HTTP/2.

use super::{super::http2::Reply, Cut};
use bytes::Bytes;
use h2::RecvStream;
use http::{header, request::Parts};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Content as it comes off the connection.
#[derive(Debug)]
pub(super) enum Source {
    Http1(Incoming),
    Http2(Stream),
}

/// A stream's content.
#[derive(Debug)]
pub(super) struct Stream {
    content: RecvStream,
    /// Bytes to come, where that was announced. `h2` holds the client to it (RFC 9113 section 8.1.1).
    left: Option<u64>,
    /// Where the client holds its content back until it is told to go on, and has not been.
    held_back: Option<Arc<Reply>>,
}

impl Stream {
    /// The content of the request with this head, whose answer goes to `reply`.
    pub(super) fn new(head: &Parts, stream: RecvStream, reply: &Arc<Reply>) -> Self {
        let length = head.headers.get(header::CONTENT_LENGTH);
        let left = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let expects = head.headers.contains_key(header::EXPECT);
        Self {
            content: stream,
            left,
            held_back: expects.then(|| Arc::clone(reply)),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        if let Some(reply) = self.held_back.take() {
            reply.go_on();
        }
        match ready!(self.content.poll_data(cx)) {
            Some(Ok(data)) => {
                // What was read makes room for more. A stream that has ended needs none.
                let _ = self.content.flow_control().release_capacity(data.len());
                self.left = self.left.map(|left| left.saturating_sub(data.len() as u64));
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None => {
                let trailers = ready!(self.content.poll_trailers(cx));
                Poll::Ready(trailers.map(|some| some.map(Frame::trailers)).transpose())
            }
        }
    }
}

impl Source {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self {
            Self::Http1(incoming) => {
                let frame = ready!(Pin::new(incoming).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Cut::Http1)))
            }
            Self::Http2(stream) => {
                let frame = ready!(stream.poll(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Cut::Http2)))
            }
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        match self {
            Self::Http1(incoming) => incoming.is_end_stream(),
            Self::Http2(stream) => stream.content.is_end_stream(),
        }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(incoming) => incoming.size_hint(),
            Self::Http2(stream) => stream.left.map_or_else(SizeHint::new, SizeHint::with_exact),
        }
    }
}
