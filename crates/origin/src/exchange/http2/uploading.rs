//! A request's content on its way to the server.

use crate::{
    Error,
    error::Cause,
    http2::{Gone, Outlet},
    link::Driver,
    upload::Outgoing,
};
use bytes::Bytes;
use h2::Reason;
use http_body::Body as _;
use std::{
    cell::RefCell,
    future::poll_fn,
    mem,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::task::spawn_local;

/// The content of a request that has no answer yet, and the task that sends it.
pub(super) struct Unanswered {
    uploading: Rc<RefCell<Uploading>>,
    driver: Driver,
}

impl Unanswered {
    /// Begins to send.
    pub(super) fn begin(body: Outgoing, out: Outlet) -> Self {
        let uploading = Rc::new(RefCell::new(Uploading {
            body,
            out,
            piece: Bytes::new(),
            failed: None,
        }));
        let sent = Rc::clone(&uploading);
        let task = spawn_local(poll_fn(move |cx| {
            let mut sent = sent.borrow_mut();
            ready!(sent.poll(cx));
            // What is not sent again does not hold its room in the memory budget until the answer begins.
            if !sent.body.is_kept() {
                sent.body = Outgoing::empty();
                sent.piece = Bytes::new();
            }
            Poll::Ready(())
        }));
        Self {
            uploading,
            driver: Driver::of(&task),
        }
    }

    /// Goes on beside the answer. The request is not sent again.
    pub(super) fn answered(self) -> Driver {
        self.uploading.borrow_mut().body.forget();
        self.driver
    }

    /// Returns `error`, for which there is no answer, with the reason if the content is it.
    pub(super) fn explain(&self, error: Error) -> Error {
        match self.uploading.borrow_mut().failed.take() {
            Some(cause) => error.because(cause),
            None => error,
        }
    }

    /// Sends nothing more. Returns the content from its beginning, if it was kept.
    pub(super) fn take_back(self) -> Option<Outgoing> {
        drop(self.driver);
        let body = &mut self.uploading.borrow_mut().body;
        mem::replace(body, Outgoing::empty()).rewound()
    }
}

/// Sends the content as the client brings it and the server takes it, until all of it is sent or the server wants no
/// more.
struct Uploading {
    body: Outgoing,
    out: Outlet,
    /// The piece that the server takes next.
    piece: Bytes,
    /// Why the content broke off.
    failed: Option<Cause>,
}

impl Uploading {
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
                Poll::Ready(Some(Err(cause))) => {
                    self.failed = Some(cause);
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

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while ready!(self.poll_send(cx)).is_ok() {}
        Poll::Ready(())
    }
}
