//! Reading: counts bytes, tells the watch of them, and keeps the raw head.

use super::Meter;
use crate::listen::{
    counters::add,
    watch::{Order, Reading},
};
use bytes::Bytes;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

impl Meter {
    /// Reads, and returns what was read; `None` for bytes that were read before, and for the end.
    fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<Option<Reading>>> {
        if !self.ahead.is_empty() {
            self.parsed = 0;
            let n = self.ahead.len().min(buf.remaining());
            buf.put_slice(&self.ahead.split_to(n));
            if self.ahead.is_empty() {
                // An empty rest would hold the memory.
                self.ahead = Bytes::new();
            }
            return Poll::Ready(Ok(None));
        }
        self.poll_read_more(cx, buf)
    }

    /// As [`poll_bytes`](Self::poll_bytes), but past what is [ahead](Self::ahead).
    pub(in crate::listen) fn poll_read_more(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<Option<Reading>>> {
        let before = buf.filled().len();
        if !self.ended {
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        }
        let length = buf.filled().len() - before;
        if length == 0 {
            self.ended = true;
            self.end_held = self.watch.waits_at_end();
            return if self.end_held {
                Poll::Pending
            } else {
                Poll::Ready(Ok(None))
            };
        }
        add(&self.watch.worker.counters.bytes_in, length as u64);
        Poll::Ready(Ok(Some(self.watch.read())))
    }

    /// Reads for a caller that [leaves](Self::leave_head) what it does not answer. Nothing is kept of a head that is
    /// answered.
    pub(in crate::listen) fn poll_read_head(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_bytes(cx, buf).map_ok(|_| ())
    }

    /// Puts back what was read beyond the end of `hyper`'s request, if that is [known](Self::bound).
    fn end_request(&mut self, before: usize, buf: &mut ReadBuf<'_>) {
        let Some(left) = self.left else {
            return;
        };
        let end = buf.filled().len().min(before.saturating_add(left));
        let beyond = buf.filled().get(end..).unwrap_or_default();
        let beyond = Bytes::copy_from_slice(beyond);
        self.put_back(beyond);
        buf.set_filled(end);
        self.left = Some(left - (end - before));
    }

    /// Reads beyond the end of `hyper`'s request, since that wants to know when the client leaves. What comes is kept.
    fn poll_beyond(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.has_ahead() {
            // The client is not watched as long as its next request is here. Nor does `hyper` watch it then.
            return Poll::Pending;
        }
        let before = buf.filled().len();
        if ready!(self.poll_read_more(cx, buf))?.is_none() {
            return Poll::Ready(Ok(()));
        }
        self.keep_ahead(buf.filled().get(before..).unwrap_or_default());
        buf.set_filled(before);
        Poll::Pending
    }
}

impl AsyncRead for Meter {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let meter = self.get_mut();
        if meter.watch.leaves_next() {
            // The task, which makes `hyper` read, takes the connection back afterwards.
            return Poll::Pending;
        }
        if meter.is_to_be_gathered() {
            // The task does so next.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if meter.left == Some(0) {
            return meter.poll_beyond(cx, buf);
        }
        let before = buf.filled().len();
        let reading = ready!(meter.poll_bytes(cx, buf))?;
        meter.end_request(before, buf);
        let bytes = buf.filled().get(before..).unwrap_or_default();
        if let Some(reading @ (Reading::HeadBegins | Reading::HeadGoesOn)) = reading
            && !meter.keep_head(reading, bytes)
        {
            // The task learns of it before it polls `hyper` again, which must not see these bytes.
            meter.watch.tell(Order::TargetTooLong);
            return Poll::Pending;
        }
        meter.follow_on(bytes);
        Poll::Ready(Ok(()))
    }
}
