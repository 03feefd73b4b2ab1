//! One exchange: sends the request and reads the answer up to the end of the head.

use super::{
    body::Body,
    desk,
    framing::Framing,
    head::{self, Head},
    link::Link,
    request,
};
use crate::{
    Error, Interim, Kind,
    connect::Speaks,
    error::of_connection,
    message::{self, Afterwards, RequestFraming},
    upload::Outgoing,
    wait::Wait,
};
use bytes::{Buf, Bytes, BytesMut};
use http::{Method, Request, Response, StatusCode, header};
use rules::head::may_be_whole;
use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// Bytes read at once while waiting for a head: enough for it and the content of most pages.
const FIRST: usize = 16 * 1024;

/// Bytes read at once of a head that comes in pieces.
const PIECE: usize = 4 * 1024;

/// The parameters of an exchange.
pub(crate) struct Asking<'a> {
    /// A request without content.
    pub(crate) request: &'a Request<Outgoing>,
    pub(crate) asked: RequestFraming,
    /// `OriginConfig::largest_head`.
    pub(crate) largest_head: usize,
    /// Whether the request may be sent twice.
    pub(crate) repeatable: bool,
    pub(crate) interim: Option<&'a Interim>,
}

/// A head and its content. Nothing is held for the content yet.
pub(crate) type Arrived = Response<Box<Body>>;

/// Why there was no head.
pub(crate) struct Lost {
    pub(crate) error: Error,
    /// Whether nothing of the request was sent.
    pub(crate) unsent: bool,
    /// Whether a connection that had been used before closed without a byte of answer, or the server said that it
    /// would ([`message::came_too_late`]).
    pub(crate) was_closing: bool,
}

/// How far the request has been sent.
enum Sending {
    Begun,
    /// These bytes are left to write.
    Rest(Bytes),
    /// All is written, but some of it may still be in the layer below (TLS).
    Flushing,
    Done,
}

struct Exchange {
    link: Link,
    sending: Sending,
    wrote: bool,
    /// Whether the request asks for the connection to be closed.
    closes: bool,
    /// Input that has come and has not been read.
    input: BytesMut,
    /// How much of it was examined: it holds no whole head.
    seen: usize,
}

/// Sends a request and waits for the final head.
pub(crate) async fn ask(asking: &Asking<'_>, mut wait: Wait, link: Link) -> Result<Arrived, Lost> {
    let before = link.stream.heard_so_far();
    let mut exchange = Exchange {
        link,
        sending: Sending::Begun,
        wrote: false,
        closes: false,
        input: BytesMut::new(),
        seen: 0,
    };
    wait.begin(&mut exchange.link.alarm);
    let head = poll_fn(|cx| match exchange.poll_head(cx, asking) {
        Poll::Pending => {
            let late = wait.poll(&mut exchange.link.alarm, cx);
            late.map(|kind| Err(Error::new(kind)))
        }
        done @ Poll::Ready(_) => done,
    });
    let judged = head.await.and_then(|head| exchange.judged(head, asking));
    match judged {
        Ok((response, _, keeps))
            if asking.repeatable
                && message::came_too_late(&response, exchange.link.reused, keeps) =>
        {
            Err(Lost {
                error: Error::new(Kind::Truncated),
                unsent: false,
                was_closing: true,
            })
        }
        Ok((response, framing, keeps)) => {
            let Exchange { link, input, .. } = exchange;
            let body = Body::new(link, framing, input.freeze(), keeps);
            Ok(response.map(|()| body))
        }
        Err(error) => {
            let Link { stream, reused, .. } = &exchange.link;
            Err(Lost {
                unsent: !exchange.wrote && !error.is_timeout(),
                was_closing: *reused && stream.heard_so_far() == before && !error.is_timeout(),
                error,
            })
        }
    }
}

impl Exchange {
    /// Moves both directions on.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        asking: &Asking<'_>,
    ) -> Poll<Result<Head, Error>> {
        loop {
            self.poll_send(cx, asking.request).map_err(broken)?;
            let head = ready!(self.poll_next(cx, asking.largest_head))?;
            let status = head.response.status();
            if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
                return Poll::Ready(Ok(head));
            }
            if let Some(passing) = asking.interim {
                passing.pass(status, head.response.headers());
            }
        }
    }

    /// Sends as much as possible.
    fn poll_send(&mut self, cx: &mut Context<'_>, request: &Request<Outgoing>) -> io::Result<()> {
        loop {
            self.sending = match &mut self.sending {
                Sending::Begun => desk::to_write(|head| {
                    self.closes = request::write(head, request);
                    let sent = match Pin::new(&mut self.link.stream).poll_write(cx, head) {
                        Poll::Ready(sent) => sent?,
                        Poll::Pending => 0,
                    };
                    self.wrote |= sent > 0;
                    io::Result::Ok(match head.get(sent..) {
                        Some(rest) if !rest.is_empty() => {
                            Sending::Rest(Bytes::copy_from_slice(rest))
                        }
                        _ => Sending::Flushing,
                    })
                })?,
                Sending::Rest(rest) => {
                    match Pin::new(&mut self.link.stream).poll_write(cx, rest) {
                        Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                        Poll::Ready(sent) => rest.advance(sent?),
                        Poll::Pending => return Ok(()),
                    }
                    self.wrote = true;
                    if rest.has_remaining() {
                        continue;
                    }
                    Sending::Flushing
                }
                Sending::Flushing => match Pin::new(&mut self.link.stream).poll_flush(cx) {
                    Poll::Ready(done) => done.map(|()| Sending::Done)?,
                    Poll::Pending => return Ok(()),
                },
                Sending::Done => return Ok(()),
            };
        }
    }

    /// Returns the next head, interim or final. What follows it stays in `input`.
    fn poll_next(&mut self, cx: &mut Context<'_>, largest: usize) -> Poll<Result<Head, Error>> {
        loop {
            if self.input.is_empty() {
                if let Some(head) = ready!(self.poll_first(cx, largest))? {
                    return Poll::Ready(Ok(head));
                }
                continue;
            }
            if let Some(head) = self.read_on(largest)? {
                return Poll::Ready(Ok(head));
            }
            self.input.reserve(PIECE);
            let read = pin!(self.link.stream.read_buf(&mut self.input)).poll(cx);
            if ready!(read).map_err(broken)? == 0 {
                return Poll::Ready(Err(Error::new(Kind::Truncated)));
            }
        }
    }

    /// Reads the first bytes, which most often are a whole head. `None`: they are not, and lie in `input`.
    fn poll_first(
        &mut self,
        cx: &mut Context<'_>,
        largest: usize,
    ) -> Poll<Result<Option<Head>, Error>> {
        desk::to_read(|buffer| {
            let mut buffer = ReadBuf::new(buffer.get_mut(..FIRST).unwrap_or_default());
            let read = Pin::new(&mut self.link.stream).poll_read(cx, &mut buffer);
            ready!(read).map_err(broken)?;
            let came = buffer.filled();
            if came.is_empty() {
                return Poll::Ready(Err(Error::new(Kind::Truncated)));
            }
            let head = head::parse(came, largest)?;
            let used = head.as_ref().map_or(0, |head| head.length);
            self.input
                .extend_from_slice(came.get(used..).unwrap_or_default());
            self.seen = if head.is_some() { 0 } else { came.len() };
            Poll::Ready(Ok(head))
        })
    }

    /// Reads a head from what is already in `input`.
    fn read_on(&mut self, largest: usize) -> Result<Option<Head>, Error> {
        let begun = self.seen > 0;
        if begun && self.input.len() < largest && !may_be_whole(&self.input, self.seen) {
            self.seen = self.input.len();
            return Ok(None);
        }
        let head = head::parse(&self.input, largest)?;
        self.seen = self.input.len();
        if let Some(head) = &head {
            self.input.advance(head.length);
            self.seen = 0;
        }
        Ok(head)
    }

    /// Returns the final head once it is believable, where its content ends, and whether the connection may be used
    /// again after it.
    fn judged(
        &mut self,
        head: Head,
        asking: &Asking<'_>,
    ) -> Result<(Response<()>, Framing, bool), Error> {
        let mut response = head.response;
        let judged = message::judge(&mut response, asking.asked, Speaks::Http1)?;
        let is_head = asking.request.method() == Method::HEAD;
        let framing = Framing::of(&response, judged.announced, is_head)?;
        let keeps = head.keeps
            && !self.closes
            && judged.afterwards == Afterwards::Reuse
            && matches!(self.sending, Sending::Done)
            && !matches!(framing, Framing::UntilClose)
            && !may_bring_more(response.status(), asking.request);
        Ok((response, framing, keeps))
    }
}

/// Whether a broken server may send content behind this answer, which has none, even after the next request was sent:
/// its handler takes a HEAD for a GET. What a condition has asked for, it knows to be without content, and so is a 204.
fn may_bring_more(status: StatusCode, request: &Request<Outgoing>) -> bool {
    let fields = request.headers();
    let is_on_condition = fields.contains_key(header::IF_NONE_MATCH)
        || fields.contains_key(header::IF_MODIFIED_SINCE);
    match status {
        StatusCode::NO_CONTENT => false,
        StatusCode::NOT_MODIFIED => !is_on_condition || request.method() == Method::HEAD,
        _ => request.method() == Method::HEAD,
    }
}

/// Translates an error of the connection.
pub(super) fn broken(cause: io::Error) -> Error {
    Error::new(of_connection(&cause)).because(cause)
}
