//! Answers that are at hand, written as they are.

use super::super::{
    Serve, meter::Meter, service::Session, splice::Splices, task::unless_told, watch::Order,
};
use super::{
    page::{Asked, Page, framing, write_head},
    prepared::Prepared,
};
use bytes::{Buf, Bytes};
use http::{HeaderMap, Response};
use http_body::Body;
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Content up to so many bytes is copied behind the head: that costs less than a second buffer does.
const COPIED: usize = 2 << 10;

/// An answer that waits for nobody but the client.
pub(super) enum AtHand<B> {
    Response(Response<B>),
    Prepared(Prepared<B>),
}

impl<B: Body> AtHand<B> {
    /// Writes its head; the bytes of content that follow. `None` where it is framed in a way that is not known here.
    fn write_head(&self, page: &mut Page, asked: Asked) -> Option<u64> {
        match self {
            Self::Response(response) => {
                let framing = framing(response, asked.is_head)?;
                write_head(page, response, framing, asked)?;
                Some(framing.content())
            }
            Self::Prepared(prepared) => prepared.write_head(page, asked),
        }
    }

    /// Its body, and an empty map with room for the fields of a request.
    fn into_parts(self) -> (B, HeaderMap) {
        let (body, mut room) = match self {
            Self::Response(response) => {
                let (parts, body) = response.into_parts();
                (body, parts.headers)
            }
            Self::Prepared(prepared) => prepared.into_parts(),
        };
        room.clear();
        (body, room)
    }

    pub(super) fn response(self) -> Response<B> {
        match self {
            Self::Response(response) => response,
            Self::Prepared(prepared) => prepared.response(),
        }
    }
}

/// How sending an answer ended.
pub(super) enum Sent<B> {
    Whole,
    /// It is framed in a way that is not known here; nothing of it was sent.
    Not(AtHand<B>),
    /// A part of it at most is out.
    Broken,
}

/// Sends an answer that is at hand.
pub(super) async fn send<S: Serve>(
    session: &Session<S>,
    meter: &mut Meter,
    answer: AtHand<S::Body>,
    asked: Asked,
) -> Sent<S::Body> {
    let mut page = Page::on(session.desk.written.take());
    let Some(left) = answer.write_head(&mut page, asked) else {
        session.desk.written.set(page.bytes);
        return Sent::Not(answer);
    };
    let (body, room) = answer.into_parts();
    session.desk.fields.set(room);
    let mut sending = Sending {
        body: pin!(body),
        left,
    };
    let begun = poll_fn(|cx| Poll::Ready(sending.begin(cx, meter, &mut page))).await;
    session.desk.written.set(page.bytes);
    let unsent = match begun {
        Ok(None) => return Sent::Whole,
        Ok(Some(unsent)) => unsent,
        Err(_) => return Sent::Broken,
    };
    let rest = sending.go_on(meter, unsent);
    match unless_told(&session.watch, Order::Timeout, rest).await {
        Some(Ok(())) => Sent::Whole,
        Some(Err(_)) | None => Sent::Broken,
    }
}

/// Content under way.
struct Sending<'a, B> {
    body: Pin<&'a mut B>,
    /// Bytes of it that were not yet taken out.
    left: u64,
}

/// What the socket did not take: of the head, and of the content behind it.
type Unsent = bytes::buf::Chain<Bytes, Bytes>;

impl<B> Sending<'_, B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    /// Sends as much as the socket takes at once, after the head on `page`; what is left, unless that is nothing.
    fn begin(
        &mut self,
        cx: &mut Context<'_>,
        meter: &mut Meter,
        page: &mut Page,
    ) -> io::Result<Option<Unsent>> {
        let mut data = match self.poll_data(cx) {
            Poll::Ready(data) => data?,
            Poll::Pending => Bytes::new(),
        };
        let is_short = data.len() <= COPIED && !Splices::is_stand_in(&data);
        if is_short && page.put(&data).is_some() {
            data = Bytes::new();
        }
        let head = page.written();
        let socket = Pin::new(&mut *meter);
        let written = if data.is_empty() {
            socket.poll_write(cx, head)
        } else {
            socket.poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(&data)])
        };
        let out = match written {
            Poll::Ready(out) => out?,
            Poll::Pending => 0,
        };
        let is_out = out == head.len() + data.len() && self.left == 0;
        if is_out && Pin::new(meter).poll_flush(cx)?.is_ready() {
            return Ok(None);
        }
        data.advance(out.saturating_sub(head.len()));
        let head = head.get(out..).unwrap_or_default();
        Ok(Some(Bytes::copy_from_slice(head).chain(data)))
    }

    /// Sends `unsent`, and then what is left.
    async fn go_on(&mut self, meter: &mut Meter, mut unsent: Unsent) -> io::Result<()> {
        meter.write_all_buf(&mut unsent).await?;
        while self.left > 0 {
            let mut data = poll_fn(|cx| self.poll_data(cx)).await?;
            meter.write_all_buf(&mut data).await?;
        }
        meter.flush().await
    }

    /// The next bytes of the content; none where none are left.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        while self.left > 0 {
            let Some(Ok(frame)) = ready!(self.body.as_mut().poll_frame(cx)) else {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            // More than was announced would be taken for the next answer.
            let left = self.left.checked_sub(data.len() as u64);
            self.left = left.ok_or(io::ErrorKind::InvalidData)?;
            return Poll::Ready(Ok(data));
        }
        Poll::Ready(Ok(Bytes::new()))
    }
}
