//! The I/O under `hyper`: counts bytes, tells the `Watch` what moves, keeps the raw head, and puts interim responses between
//! messages.

use super::{
    counters::add,
    shared::Slot,
    stream::Stream,
    watch::{Order, Reading, Stage, Watch},
};
use bytes::Bytes;
use std::{
    io::{self, IoSlice},
    mem,
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// See the module.
#[derive(Debug)]
pub(super) struct Meter {
    stream: Stream,
    watch: Arc<Watch>,
    /// What was read already and is to be read again first.
    ahead: Bytes,
    /// Most bytes of a request target and of a head.
    target: usize,
    head: usize,
    /// An interim response under way, and how much of it is out.
    interim: Vec<u8>,
    interim_out: usize,
    /// Whether the client has sent its last byte.
    ended: bool,
    /// Whether `hyper` has yet to hear of it.
    end_held: bool,
    /// Held as long as the socket is open, through an upgrade too.
    _slot: Slot,
}

impl Meter {
    pub(super) fn new(
        stream: Stream,
        watch: Arc<Watch>,
        (target, head): (usize, usize),
        slot: Slot,
    ) -> Self {
        Self {
            stream,
            watch,
            ahead: Bytes::new(),
            target,
            head,
            interim: Vec::new(),
            interim_out: 0,
            ended: false,
            end_held: false,
            _slot: slot,
        }
    }

    /// Has `bytes`, which were read, read again first.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        self.ahead = if self.ahead.is_empty() {
            bytes
        } else {
            Bytes::from([bytes, mem::take(&mut self.ahead)].concat())
        };
    }

    /// What is written from now on is at hand, and the connection is closed behind it.
    pub(super) fn end(&mut self) {
        self.stream.end();
    }

    /// Whether something was put back and not yet read again.
    pub(super) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Whether an answer of our own could be written now without cutting into another.
    pub(super) fn is_clean(&self) -> bool {
        self.watch.is_between() && self.interim.is_empty()
    }

    /// See [`Stream::reset_at_close`].
    pub(super) fn reset_at_close(&self) {
        self.stream.reset_at_close();
    }

    /// Whether the client has closed its side.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

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
    pub(super) fn poll_read_head(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_bytes(cx, buf).map_ok(|_| ())
    }

    /// Forgets the raw head: what comes next is read by who keeps none.
    pub(super) fn forget_head(&self) {
        let mut head = self
            .watch
            .head
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *head = Vec::new();
    }

    /// Has all that was read of a head read again by another, or when there is more of it.
    pub(super) fn leave_head(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !self.keep_head(Reading::HeadBegins, bytes) {
            self.watch.tell(Order::TargetTooLong);
        }
        self.watch.awaits_head();
        self.put_back(Bytes::copy_from_slice(bytes));
    }

    /// Writes the interim response under way to its end.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.interim.get(self.interim_out..)
            && !rest.is_empty()
        {
            let written = Pin::new(&mut self.stream).poll_write(cx, rest);
            let n = ready!(self.count(written))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.interim_out += n;
        }
        self.interim = Vec::new();
        self.interim_out = 0;
        Poll::Ready(Ok(()))
    }

    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(n)) => {
                add(&self.watch.worker.counters.bytes_out, *n as u64);
                self.watch.wrote();
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.watch.blocked(),
        }
        written
    }

    /// Flushes what TLS holds back. What the client does not take of that, it does not take of the answer.
    fn poll_flush_stream(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        match &flushed {
            Poll::Ready(_) => self.watch.flushed(),
            Poll::Pending => self.watch.blocked(),
        }
        flushed
    }

    /// Before `hyper`'s bytes. Its first write after a flush begins a message unless an answer is already on its way, and then
    /// nothing waits: whatever did not find its place before the final head is dropped here.
    fn poll_before_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outbox = &self.watch.outbox;
        if outbox.is_waiting() {
            if self.is_clean() {
                self.interim = outbox.take();
            } else if outbox.is_closed() {
                outbox.take();
            }
        }
        if !self.interim.is_empty() {
            ready!(self.poll_interim(cx))?;
        }
        self.watch.message_begins();
        Poll::Ready(Ok(()))
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

impl AsyncWrite for Meter {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let meter = self.get_mut();
        ready!(meter.poll_before_write(cx))?;
        let written = Pin::new(&mut meter.stream).poll_write(cx, buf);
        meter.count(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let meter = self.get_mut();
        ready!(meter.poll_before_write(cx))?;
        let written = Pin::new(&mut meter.stream).poll_write_vectored(cx, bufs);
        meter.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let meter = self.get_mut();
        ready!(meter.poll_flush_stream(cx))?;
        // `hyper` flushes only when it holds nothing back itself.
        meter.watch.message_ends();
        let outbox = &meter.watch.outbox;
        if meter.interim.is_empty() && outbox.is_waiting() && !outbox.is_closed() {
            meter.interim = outbox.take();
        }
        if !meter.interim.is_empty() {
            ready!(meter.poll_interim(cx))?;
            ready!(meter.poll_flush_stream(cx))?;
        }
        if meter.end_held && !meter.watch.waits_at_end() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let meter = self.get_mut();
        if meter.watch.stage() == Stage::Http1 && matches!(meter.stream, Stream::Plain(_)) {
            // What comes after `hyper` reads on where it must, and then says so itself; else it closes, which says the same.
            return Poll::Ready(Ok(()));
        }
        let closed = Pin::new(&mut meter.stream).poll_shutdown(cx);
        if closed.is_pending() {
            meter.watch.blocked();
        }
        closed
    }
}
