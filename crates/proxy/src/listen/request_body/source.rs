//! The source of a request's content: `hyper` over HTTP/1, a stream over HTTP/2.

use super::{super::http2::Reply, Cut, rest};
use bytes::Bytes;
use http::{header, request::Parts};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use origin::http2;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

/// Content as it comes from the connection.
#[derive(Debug)]
pub(super) enum ContentSource {
    Http1 {
        content: Incoming,
        /// Whether some of it came with the head.
        came: bool,
    },
    Http2 {
        content: http2::Incoming,
        /// Set if the client holds its content back until it is told to continue, and has not been told.
        held_back: Option<Arc<Reply>>,
        /// How long what nobody reads may take to end.
        linger_time: Duration,
    },
}

impl ContentSource {
    /// The content of the request with this head, whose answer goes to `reply`.
    pub(super) fn http2(
        (head, content): (&Parts, Arc<http2::Inlet>),
        reply: &Arc<Reply>,
        linger_time: Duration,
    ) -> Self {
        let expected = head.headers.get_all(header::EXPECT);
        let expects = expected.iter().any(|line| {
            let mut all = line.as_bytes().split(|byte| *byte == b',');
            all.any(|one| one.trim_ascii().eq_ignore_ascii_case(b"100-continue"))
        });
        Self::Http2 {
            content: http2::Incoming::new(&head.headers, content),
            held_back: expects.then(|| Arc::clone(reply)),
            linger_time,
        }
    }

    /// Leaves what was not read to its end, unless the client holds it back: it learns from the end of the stream that
    /// nobody wants it.
    pub(super) fn leave(&self) {
        if let Self::Http2 {
            content,
            held_back: None,
            linger_time,
        } = self
        {
            rest::leave(content.inlet(), *linger_time);
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self {
            Self::Http1 { content, .. } => {
                let frame = ready!(Pin::new(content).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Cut::Http1)))
            }
            Self::Http2 {
                content, held_back, ..
            } => {
                if let Some(reply) = held_back.take() {
                    reply.go_on();
                }
                let frame = ready!(Pin::new(content).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Cut::Http2)))
            }
        }
    }

    /// Whether it may be read before it is needed: its client does not wait to be told to continue, and did not announce
    /// that some comes.
    pub(super) fn may_be_peeked(&self) -> bool {
        let Self::Http2 {
            content, held_back, ..
        } = self
        else {
            return false;
        };
        let announced = content.size_hint().exact();
        held_back.is_none() && announced.is_none_or(|length| length == 0)
    }

    /// Whether some of it is known to have come, or its end. Over HTTP/1, `hyper` looks for more only when it is read.
    pub(super) fn has_come(&self) -> bool {
        match self {
            Self::Http1 { came, .. } => *came,
            Self::Http2 { content, .. } => content.has_come(),
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        match self {
            Self::Http1 { content, .. } => content.is_end_stream(),
            Self::Http2 { content, .. } => content.is_end_stream(),
        }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1 { content, .. } => content.size_hint(),
            Self::Http2 { content, .. } => content.size_hint(),
        }
    }
}
