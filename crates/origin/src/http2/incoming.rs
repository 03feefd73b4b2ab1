//! The content of a message as it is read from a stream.

use super::Inlet;
use crate::direct::head;
use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use rules::fields::{forward_to, has_padded_value, may_trail};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Content of a message over HTTP/2. It fails if the stream ends before the content does, for whatever reason, or if
/// the trailers are malformed or too many. They come without fields that [may not stand there](may_trail), and without
/// what exceeds the size of a head: `h2` leaves that out.
#[derive(Debug)]
pub struct Incoming {
    content: Arc<Inlet>,
    /// Bytes to come, if their number was announced. `h2` enforces it (RFC 9113 section 8.1.1).
    left: Option<u64>,
    /// Whether trailers are left out.
    is_untrailed: bool,
    /// Whether nothing more is read, whatever comes.
    is_over: bool,
}

impl Incoming {
    /// Makes the content of the message with these fields.
    pub fn new(fields: &HeaderMap, content: Arc<Inlet>) -> Self {
        let length = fields.get(header::CONTENT_LENGTH);
        let left = length.and_then(|length| length.to_str().ok()?.parse().ok());
        Self {
            content,
            left,
            is_untrailed: false,
            is_over: false,
        }
    }

    /// Whether any of it has come that was not read, or its end.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.content.has_come()
    }

    /// Returns the content of the stream, for somebody else to read on.
    #[must_use]
    pub fn inlet(&self) -> Arc<Inlet> {
        Arc::clone(&self.content)
    }

    /// Leaves out trailers.
    #[must_use]
    pub fn untrailed(self) -> Self {
        Self {
            is_untrailed: true,
            ..self
        }
    }

    /// Reads nothing more. Dropping the content resets the stream.
    pub fn end(&mut self) {
        self.is_over = true;
        self.left = Some(0);
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        match ready!(this.content.poll_data(cx)) {
            Some(Ok(data)) => {
                this.left = this.left.map(|left| left.saturating_sub(data.len() as u64));
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None => Poll::Ready(match ready!(this.content.poll_trailers(cx)) {
                Ok(Some(trailers))
                    if trailers.len() > head::MOST || has_padded_value(&trailers) =>
                {
                    Some(Err(Reason::PROTOCOL_ERROR.into()))
                }
                Ok(Some(trailers)) if !this.is_untrailed => {
                    let mut forwarded = HeaderMap::new();
                    forward_to(&mut forwarded, &trailers, may_trail);
                    Some(Ok(Frame::trailers(forwarded)))
                }
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
