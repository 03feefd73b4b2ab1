//! Reading: bytes are counted and told, and the raw head is kept.

use super::Meter;
use crate::listen::{
    counters::add,
    watch::{Order, Reading},
};
use bytes::Bytes;
use std::{
    io,
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

impl Meter {
    /// Keeps the raw head. `false` when the target alone outgrows its limit: `hyper` would call that 431.
    fn keep_head(&self, reading: Reading, bytes: &[u8]) -> bool {
        let mut head = self
            .watch
            .head
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if reading == Reading::HeadBegins {
            head.clear();
        }
        let room = self.head.saturating_sub(head.len());
        head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        // 32 bytes are for the method and white space; a complete request line is judged exactly once it is parsed.
        let line = head.get(2..).unwrap_or_default();
        head.len() <= self.target + 32 || memchr::memchr(b'\n', line).is_some()
    }

    /// Reads, and says what was read; `None`: what was read before, or the end.
    fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<Option<Reading>>> {
        if !self.ahead.is_empty() {
            let n = self.ahead.len().min(buf.remaining());
            buf.put_slice(&self.ahead.split_to(n));
            return Poll::Ready(Ok(None));
        }
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

    /// Reads for who [leaves](Self::leave_head) what is not for him: of a head that is answered, nothing is kept.
    pub(in crate::listen) fn poll_read_head(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_bytes(cx, buf).map_ok(|_| ())
    }

    /// Forgets the raw head: what comes next is read by who keeps none.
    pub(in crate::listen) fn forget_head(&self) {
        let mut head = self
            .watch
            .head
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *head = Vec::new();
    }

    /// Has all that was read of a head read again by another, or when there is more of it.
    pub(in crate::listen) fn leave_head(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !self.keep_head(Reading::HeadBegins, bytes) {
            self.watch.tell(Order::TargetTooLong);
        }
        self.watch.awaits_head();
        self.put_back(Bytes::copy_from_slice(bytes));
    }
}

impl AsyncRead for Meter {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let meter = self.get_mut();
        let before = buf.filled().len();
        let reading = ready!(meter.poll_bytes(cx, buf))?;
        let bytes = buf.filled().get(before..).unwrap_or_default();
        if let Some(reading @ (Reading::HeadBegins | Reading::HeadGoesOn)) = reading
            && !meter.keep_head(reading, bytes)
        {
            // The task is told before it polls `hyper` again, which must not see these bytes.
            meter.watch.tell(Order::TargetTooLong);
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}
