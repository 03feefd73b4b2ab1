//! The content of a message on its way into a stream.

use bytes::Bytes;
use h2::{Reason, SendStream};
use http::HeaderMap;
use std::task::{Context, Poll, ready};

/// Where the content of a message goes, a piece at a time. Dropped before its end, the stream is reset (RFC 9113 section 5.4.2), and the
/// others of its connection go on.
#[derive(Debug)]
pub struct Outlet(SendStream<Bytes>);

/// Nothing can be sent any more: the other side has given the stream up, or the connection has ended.
#[derive(Clone, Copy, Debug)]
pub struct Gone;

impl Outlet {
    /// Of a message whose head was sent.
    pub fn new(out: SendStream<Bytes>) -> Self {
        Self(out)
    }

    /// Ready when the other side has room for a part of what is to be sent.
    ///
    /// # Errors
    /// It will not have any.
    pub fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        // Not for all of it: what is asked for here is kept from the connection's other streams.
        self.0.reserve_capacity(1);
        while self.0.capacity() == 0 {
            match ready!(self.0.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Poll::Ready(Err(Gone)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends a piece for a part of which there is room; the rest of it goes as the other side has more. Nothing comes behind the last.
    ///
    /// # Errors
    /// Nothing can be sent.
    pub fn send(&mut self, piece: Bytes, is_last: bool) -> Result<(), Gone> {
        self.0.send_data(piece, is_last).map_err(|_| Gone)
    }

    /// Ends the content with trailers. That nothing can be sent any more makes no difference then.
    pub fn end_with(&mut self, trailers: HeaderMap) {
        let _ = self.0.send_trailers(trailers);
    }

    /// Breaks the stream off.
    pub fn reset(&mut self, reason: Reason) {
        self.0.send_reset(reason);
    }

    /// Ready when nothing can be sent any more.
    pub fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Gone> {
        self.0.poll_reset(cx).map(|_| Gone)
    }
}
