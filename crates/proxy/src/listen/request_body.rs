//! The content of a request, with a time limit between its pieces.

mod rest;
mod room;
mod source;

pub(super) use room::counted;

use super::{
    config::Limits,
    http2::Reply,
    watch::{Wait, Watch},
};
use bytes::Bytes;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use origin::http2::Inlet;
use room::Room;
use source::ContentSource;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use store::{Memory, Reservation};

/// Why the content of a request broke off.
#[derive(Debug, thiserror::Error)]
pub enum Cut {
    /// Over HTTP/1, the client left or framed the content wrongly.
    #[error(transparent)]
    Http1(hyper::Error),
    /// Over HTTP/2, the client left, cancelled the stream, or framed the content wrongly.
    #[error(transparent)]
    Http2(h2::Error),
    /// Over HTTP/2, nothing came in time. The connection may have other streams, so the request deserves a 408. Over
    /// HTTP/1, the connection ends instead.
    #[error("the content did not come in time")]
    Late,
}

/// The content of a request as it comes.
///
/// An error is the client's fault, see [`Cut`]. If it left, or framed the content wrongly (RFC 9112 section 7.1), it
/// deserves a 400. Most requests have no content, so this is one word that is cheap to pass on.
#[derive(Debug)]
pub struct RequestBody(Option<Box<Content>>);

/// Content of a request.
#[derive(Debug)]
struct Content {
    source: ContentSource,
    /// Told that we wait.
    watch: Arc<Watch>,
    /// Our wait for more content.
    awaited: Option<Wait>,
    ended: bool,
    /// Whether its end was told.
    is_let_go: bool,
    /// What was read already and is to be read again first, and what that takes of the budget.
    front: Bytes,
    front_room: Option<Reservation>,
    /// How many bytes of it may be held at once.
    most: u64,
    /// What it takes of the budget.
    room: Option<Room>,
}

impl RequestBody {
    /// Puts back all that was read so far, with its reservation if nothing else holds that.
    pub(crate) fn put_back(&mut self, front: Bytes, room: Option<Reservation>) {
        if let Some(content) = &mut self.0 {
            content.front = front;
            content.front_room = room;
        }
    }

    /// Returns the body, or no content if what has come already is empty and ends it, or if the client has announced that
    /// none comes.
    ///
    /// Some clients of HTTP/2 end a `GET` with a `DATA` frame without bytes (RFC 9113 section 8.1). That means the same
    /// as a head that ends the stream. Bytes behind a `content-length: 0` are an error of the stream (section 8.1.1).
    pub(super) fn or_none(mut self, cx: &mut Context<'_>) -> Self {
        let is_open = self
            .0
            .as_ref()
            .is_some_and(|content| content.source.may_be_peeked());
        if !is_open {
            return self;
        }
        let is_none = self.size_hint().exact() == Some(0);
        let polled = Pin::new(&mut self).poll_frame(cx);
        if let Some(content) = &mut self.0 {
            // Nothing waits for it yet, however long the request itself has to.
            content.await_more(None);
        }
        match polled {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.is_empty() && (is_none || self.is_end_stream()) => Self::none(),
                Ok(data) => {
                    self.put_back(data, None);
                    self
                }
                Err(_trailers) => Self::none(),
            },
            Poll::Ready(None) => Self::none(),
            Poll::Pending if is_none => Self::none(),
            // A read returns the error again.
            Poll::Ready(Some(Err(_))) | Poll::Pending => self,
        }
    }

    /// Whether some of the content is known to have come, or its end: then its client does not wait to be told to
    /// continue.
    pub(crate) fn has_come(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|content| !content.front.is_empty() || content.source.has_come())
    }

    /// Takes from the budget what the content may hold until all of it is sent. Returns `false` if there is no room.
    #[inline]
    pub(crate) fn take_room(&mut self, memory: &Memory) -> bool {
        self.0.as_mut().is_none_or(|content| {
            let length = content.source.size_hint().exact();
            content.room = Room::take(memory, length, content.most);
            content.room.is_some()
        })
    }

    /// No content.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Content from `hyper`, of which at most `most` bytes are held at once. `came` says whether some of it came with
    /// the head. `hyper` keeps the connection until all of it was read.
    pub(super) fn http1(content: Incoming, came: bool, watch: Arc<Watch>, most: u64) -> Self {
        Self::of(ContentSource::Http1 { content, came }, watch, most)
    }

    /// Content from a stream. The answer to the request with this head goes to `reply`.
    pub(super) fn http2(
        (head, content): (&Parts, Arc<Inlet>),
        watch: Arc<Watch>,
        limits: &Limits,
        reply: &Arc<Reply>,
    ) -> Self {
        let most = limits.held_content(head.version);
        let source = ContentSource::http2((head, content), reply, limits.linger_time);
        Self::of(source, watch, most)
    }

    fn of(source: ContentSource, watch: Arc<Watch>, most: u64) -> Self {
        watch.keep();
        Self(Some(Box::new(Content {
            source,
            watch,
            awaited: None,
            ended: false,
            is_let_go: false,
            front: Bytes::new(),
            front_room: None,
            most,
            room: None,
        })))
    }
}

impl Content {
    /// Whether what we wait for takes too long.
    fn is_late(&self) -> bool {
        self.awaited.is_some_and(|wait| self.watch.is_late(wait))
    }

    /// Begins or continues to wait for more if there is a task to wake, and otherwise stops waiting.
    fn await_more(&mut self, waker: Option<&Waker>) {
        match (self.awaited, waker) {
            (None, Some(waker)) => self.awaited = Some(self.watch.await_body(waker)),
            (Some(wait), Some(waker)) => self.watch.hand_body_over(wait, waker),
            (Some(wait), None) => {
                self.awaited = None;
                self.watch.body_came(wait);
            }
            (None, None) => {}
        }
    }

    /// Ends the connection with the answer if HTTP/1 content has trailers.
    ///
    /// In trailers, `hyper` takes a bare LF for the end of a line, where other servers read on or refuse it (RFC 9112
    /// section 2.2). So it is not certain where the next request begins.
    fn has_trailers(&self) {
        if matches!(self.source, ContentSource::Http1 { .. }) {
            self.watch.leave_unread();
        }
    }

    /// Tells once that all of the content has come.
    fn let_go(&mut self) {
        if !self.is_let_go && (self.ended || self.source.is_ended()) {
            self.is_let_go = true;
            self.watch.let_go();
        }
    }

    fn is_ended(&self) -> bool {
        self.front.is_empty() && self.source.is_ended()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Some(content) = &mut self.0 else {
            return Poll::Ready(None);
        };
        if !content.front.is_empty() {
            let front = std::mem::take(&mut content.front);
            let front = room::counted(front, content.front_room.take());
            return Poll::Ready(Some(Ok(Frame::data(front))));
        }
        // `hyper` tells the client to continue.
        content.watch.hold_back(false);
        let polled = content.source.poll(cx);
        if polled.is_pending() && content.is_late() {
            content.await_more(None);
            return Poll::Ready(Some(Err(Cut::Late)));
        }
        let waits = polled.is_pending() && !origin::is_look(cx);
        content.await_more(waits.then(|| cx.waker()));
        content.ended |= match &polled {
            Poll::Ready(None) => true,
            // Nothing comes after trailers, and a reader that has them need not ask.
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() => {
                content.has_trailers();
                true
            }
            Poll::Ready(Some(_)) | Poll::Pending => false,
        };
        content.let_go();
        let room = &content.room;
        polled.map(|frame| {
            Some(frame?.map(|frame| frame.map_data(|piece| room::of(room.as_ref(), piece))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|content| content.is_ended())
    }

    fn size_hint(&self) -> SizeHint {
        let Some(content) = &self.0 else {
            return SizeHint::with_exact(0);
        };
        let rest = content.source.size_hint();
        let front = content.front.len() as u64;
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(front)) {
            hint.set_upper(upper);
        }
        hint.set_lower(
            rest.lower()
                .saturating_add(front)
                .min(hint.upper().unwrap_or(u64::MAX)),
        );
        hint
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        self.await_more(None);
        self.let_go();
        if !self.is_let_go {
            self.watch.leave_unread();
            self.source.leave();
        }
    }
}
