//! Writing: counts bytes, tells the watch of them, and finds the place for interim responses.

use super::Meter;
use crate::listen::{counters::add, stream::Stream, watch::Stage};
use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::AsyncWrite;

impl Meter {
    /// Writes the rest of the current interim response.
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

    /// Flushes what TLS holds back. If the client does not take that, it does not take the answer.
    fn poll_flush_stream(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        match &flushed {
            Poll::Ready(_) => self.watch.flushed(),
            Poll::Pending => self.watch.blocked(),
        }
        flushed
    }

    /// Prepares for a write of `hyper`. Its first write after a flush begins a message, unless an answer is already
    /// being sent. In that case nothing waits: an interim response that found no place before the final head is dropped
    /// here.
    fn poll_before_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outbox = &self.watch.outbox;
        if outbox.is_waiting() {
            if self.is_clean() {
                self.interim = outbox.take();
            } else if outbox.is_closed() {
                outbox.take();
            }
        }
        // Also if an interim response cannot be written yet: what `hyper` has to write after it is not sent either.
        self.watch.message_begins();
        if !self.interim.is_empty() {
            ready!(self.poll_interim(cx))?;
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
            // The code that runs after `hyper` reads on if it must, and then shuts down itself. Otherwise it closes,
            // which has the same effect.
            return Poll::Ready(Ok(()));
        }
        let closed = Pin::new(&mut meter.stream).poll_shutdown(cx);
        if closed.is_pending() {
            meter.watch.blocked();
        }
        closed
    }
}
