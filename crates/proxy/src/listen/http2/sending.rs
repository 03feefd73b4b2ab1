//! The content of an answer over HTTP/2, as the client takes it.

use super::{
    super::{
        AtHand,
        counters::add,
        in_flight::InFlight,
        watch::{Wait, Watch},
    },
    head,
};
use bytes::Bytes;
use h2::{Reason, SendStream};
use http::HeaderMap;
use http_body::Body;
use origin::http2::{Gone, Outlet};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};
use store::Reservation;

/// A request over HTTP/2, which counts as one that the client let finish, or cancelled.
#[derive(Debug)]
pub(super) struct Counted {
    in_flight: InFlight,
    /// The limit on cancelled requests.
    most_cancelled: u32,
    finished: bool,
    /// What its head takes of the budget until it is answered.
    _head: Option<Reservation>,
}

impl Counted {
    pub(super) fn new(in_flight: InFlight, most_cancelled: u32, head: Option<Reservation>) -> Self {
        Self {
            in_flight,
            most_cancelled,
            finished: false,
            _head: head,
        }
    }

    pub(super) fn watch(&self) -> &Arc<Watch> {
        &self.in_flight.watch
    }

    /// Says that the answer is complete, as far as we are concerned.
    pub(super) fn finish(&mut self) {
        self.finished = true;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.watch().tally(!self.finished, self.most_cancelled);
    }
}

/// Content that is being sent. Dropped before its end, it ends its stream only, and tells the body what was left unsent.
pub(super) struct Sending<B: AtHand> {
    body: B,
    out: Outlet,
    /// The bytes that the client is to take next.
    piece: Bytes,
    /// The wait until the client has room for some of them.
    awaited: Option<Wait>,
    /// The content has broken off. The stream is reset once what came before is sent.
    is_broken: bool,
    counted: Counted,
}

/// Nothing more is to be sent: everything is sent, the client has left, or the content broke off.
struct Over;

impl From<Gone> for Over {
    fn from(_: Gone) -> Self {
        Self
    }
}

impl<B: Body<Data = Bytes> + AtHand + Unpin> Sending<B> {
    pub(super) fn new(body: B, out: SendStream<Bytes>, counted: Counted) -> Self {
        Self {
            body,
            out: Outlet::new(out),
            piece: Bytes::new(),
            awaited: None,
            is_broken: false,
            counted,
        }
    }

    /// Gets the next piece of content.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Over>> {
        while self.piece.is_empty() {
            if self.is_broken {
                self.counted.finish();
                self.out.reset(Reason::INTERNAL_ERROR);
                return Poll::Ready(Err(Over));
            }
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.piece = data,
                    Err(last) => {
                        self.counted.finish();
                        self.end_with(last.into_trailers().unwrap_or_default());
                        return Poll::Ready(Err(Over));
                    }
                },
                Poll::Ready(Some(Err(_))) => {
                    // A reset discards what waits for the connection's turn, even the head.
                    self.is_broken = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(None) => {
                    self.counted.finish();
                    self.out.end();
                    return Poll::Ready(Err(Over));
                }
                Poll::Pending => return self.out.poll_gone(cx).map(|gone| Err(gone.into())),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the stream with trailers, if memory has room for them until they are written.
    fn end_with(&mut self, mut trailers: HeaderMap) {
        match head::count(self.counted.watch(), &mut trailers) {
            Ok(()) => self.out.end_with(trailers),
            Err(_) => self.out.reset(Reason::INTERNAL_ERROR),
        }
    }

    /// Waits until the client has room for some of the piece.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Over>> {
        let polled = self.out.poll_room(cx);
        self.await_room(polled.is_pending().then(|| cx.waker()));
        polled.map_err(Over::from)
    }

    /// Begins or continues to wait for the client if there is a task to wake, and otherwise stops waiting.
    fn await_room(&mut self, waker: Option<&Waker>) {
        let watch = &self.counted.in_flight.watch;
        match (self.awaited, waker) {
            (None, Some(waker)) => {
                self.awaited = Some(watch.pieces.begin(watch.worker.now(), Some(waker)));
            }
            (Some(wait), Some(waker)) => watch.pieces.hand_over(wait, waker),
            (Some(wait), None) => {
                self.awaited = None;
                watch.pieces.end(wait);
            }
            (None, None) => {}
        }
    }

    fn is_late(&self) -> bool {
        let pieces = &self.counted.in_flight.watch.pieces;
        self.awaited.is_some_and(|wait| pieces.is_late(wait))
    }

    /// Sends what there is room for. An error means that nothing more is to be sent.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Over>> {
        ready!(self.poll_piece(cx))?;
        ready!(self.poll_room(cx))?;
        let is_last = self.body.is_end_stream();
        self.out.send(&mut self.piece, is_last)?;
        let is_over = is_last && self.piece.is_empty();
        if is_over {
            self.counted.finish();
        }
        Poll::Ready(if is_over { Err(Over) } else { Ok(()) })
    }

    /// Sends all that there is room for.
    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while ready!(self.poll_send(cx)).is_ok() {}
        Poll::Ready(())
    }
}

impl<B: Body<Data = Bytes> + AtHand + Unpin> Future for Sending<B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let sending = self.get_mut();
        if sending.is_late() {
            add(&sending.counted.watch().worker.counters.timeouts, 1);
            // We cancel it, not the client.
            sending.counted.finish();
            return Poll::Ready(());
        }
        // A panic in the content must not end the other streams: this may run on the connection's task.
        let sent = catch_unwind(AssertUnwindSafe(|| sending.poll_all(cx)));
        sent.unwrap_or_else(|_| {
            add(&sending.counted.watch().worker.counters.panics, 1);
            sending.counted.finish();
            Poll::Ready(())
        })
    }
}

impl<B: AtHand> Drop for Sending<B> {
    fn drop(&mut self) {
        if !self.piece.is_empty() {
            self.body.left_unsent(self.piece.len() as u64);
        }
        if let Some(wait) = self.awaited {
            self.counted.watch().pieces.end(wait);
        }
    }
}
