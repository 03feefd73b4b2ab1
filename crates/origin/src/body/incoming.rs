//! The content of a server's answer, as the protocol's library reads it.

use crate::{Error, http2, link::STREAM_WINDOW};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Content of an answer over HTTP that is not read [directly](crate::direct).
#[derive(Debug)]
pub(crate) enum Incoming {
    /// hyper reads it.
    Http1(hyper::body::Incoming),
    Http2(http2::Incoming),
}

impl Incoming {
    /// Ends content that cannot exist (RFC 9110 section 6.4.1): what the server sends all the same is not read.
    pub(crate) fn end(&mut self) {
        if let Self::Http2(incoming) = self {
            incoming.end();
        }
    }

    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match self {
            Self::Http1(incoming) => loop {
                let frame = ready!(Pin::new(&mut *incoming).poll_frame(cx));
                // Its trailers are left out (RFC 9110 section 6.5.1), but not the end that follows them.
                if !matches!(&frame, Some(Ok(frame)) if frame.is_trailers()) {
                    return Poll::Ready(frame.map(|frame| frame.map_err(Error::of_hyper)));
                }
            },
            Self::Http2(incoming) => {
                let frame = ready!(Pin::new(incoming).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Error::of_h2)))
            }
        }
    }

    /// See [`ResponseBody::unread`](crate::ResponseBody::unread).
    pub(super) fn unread(&self) -> u64 {
        match self {
            Self::Http2(incoming) if !incoming.is_end_stream() => {
                let window = u64::from(STREAM_WINDOW);
                let left = incoming.size_hint().upper();
                left.map_or(window, |left| left.min(window))
            }
            Self::Http1(_) | Self::Http2(_) => 0,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        match self {
            Self::Http1(incoming) => incoming.is_end_stream(),
            Self::Http2(incoming) => incoming.is_end_stream(),
        }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(incoming) => incoming.size_hint(),
            Self::Http2(incoming) => incoming.size_hint(),
        }
    }
}
