//! A request's content on its way to the server.

use crate::{
    http2::{Gone, Outlet},
    upload::Outgoing,
};
use bytes::Bytes;
use h2::Reason;
use http_body::Body as _;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Sends the content as the client brings it and the server takes it, until all of it is sent or the server wants no
/// more.
pub(super) struct Uploading {
    body: Outgoing,
    out: Outlet,
    /// The piece that the server takes next.
    piece: Bytes,
}

impl Uploading {
    pub(super) fn new(body: Outgoing, out: Outlet) -> Self {
        Self {
            body,
            out,
            piece: Bytes::new(),
        }
    }

    /// Gets the next piece. An error means that no more comes.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        while self.piece.is_empty() {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.piece = data,
                    Err(last) => {
                        self.out.end_with(last.into_trailers().unwrap_or_default());
                        return Poll::Ready(Err(Gone));
                    }
                },
                // Incomplete content must not look complete.
                Poll::Ready(Some(Err(_))) => {
                    self.out.reset(Reason::CANCEL);
                    return Poll::Ready(Err(Gone));
                }
                Poll::Ready(None) => {
                    self.out.end();
                    return Poll::Ready(Err(Gone));
                }
                Poll::Pending => return self.out.poll_gone(cx).map(Err),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what there is room for. An error means that nothing more is to be sent.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Gone>> {
        ready!(self.poll_piece(cx))?;
        ready!(self.out.poll_room(cx))?;
        let is_last = self.body.is_end_stream();
        self.out.send(&mut self.piece, is_last)?;
        self.body.moves();
        let is_over = is_last && self.piece.is_empty();
        Poll::Ready(if is_over { Err(Gone) } else { Ok(()) })
    }
}

impl Future for Uploading {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let uploading = self.get_mut();
        while ready!(uploading.poll_send(cx)).is_ok() {}
        Poll::Ready(())
    }
}
