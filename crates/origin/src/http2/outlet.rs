//! The content of a message as it is written to a stream.

use bytes::Bytes;
use h2::{Reason, SendStream};
use http::HeaderMap;
use std::task::{Context, Poll, ready};

/// Sends the content of a message, only as far as the other side has room for it: what is handed on waits for nothing
/// but the socket. If the last handle to a stream is dropped before its end, the stream is reset (RFC 9113 section
/// 5.4.2), and the connection's other streams go on.
#[derive(Debug)]
pub struct Outlet(SendStream<Bytes>);

/// Nothing can be sent any more: the other side has given up the stream, or the connection has ended.
#[derive(Clone, Copy, Debug)]
pub struct Gone;

impl Outlet {
    /// Makes the outlet of a message whose head was sent.
    pub fn new(out: SendStream<Bytes>) -> Self {
        Self(out)
    }

    /// Ready when the other side has room for some of the content.
    ///
    /// # Errors
    /// There will be no room.
    pub fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        // Asks for no more: what is asked for here is withheld from the connection's other streams while we wait.
        self.0.reserve_capacity(1);
        while self.0.capacity() == 0 {
            match ready!(self.0.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Poll::Ready(Err(Gone)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends as much of `piece` as there is room for, and leaves the rest in it. Nothing may follow the last piece.
    ///
    /// # Errors
    /// Nothing can be sent any more.
    pub fn send(&mut self, piece: &mut Bytes, is_last: bool) -> Result<(), Gone> {
        self.0.reserve_capacity(piece.len());
        let room = self.0.capacity().min(piece.len());
        let part = piece.split_to(room);
        let ends = is_last && piece.is_empty();
        self.0.send_data(part, ends).map_err(|_| Gone)
    }

    /// Ends the content.
    pub fn end(&mut self) {
        // If nothing can be sent any more, that makes no difference now.
        let _ = self.0.send_data(Bytes::new(), true);
    }

    /// Ends the content with trailers, if there are any.
    pub fn end_with(&mut self, trailers: HeaderMap) {
        if trailers.is_empty() {
            self.end();
        } else {
            // As with `end`.
            let _ = self.0.send_trailers(trailers);
        }
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
