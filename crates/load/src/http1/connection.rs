//! One connection, with one exchange at a time.

use super::{Answer, Reader, Step};
use crate::{fault::Fault, stream::Stream};
use std::{
    cell::RefCell,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

/// The buffer for answers. All connections of a worker share it, because none keeps anything in it.
pub(crate) type Scratch = RefCell<Box<[u8]>>;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    reader: Reader,
    /// Set rarely: when it rings, its exchange is usually over, and it is set again.
    alarm: Pin<Box<Sleep>>,
}

/// The progress of an exchange.
struct Exchange<'a> {
    /// The parts to send, one after the other.
    request: [&'a [u8]; 2],
    written: usize,
    deadline: Instant,
}

impl<'a> Exchange<'a> {
    /// Returns what has to be sent next. `None`: all is sent.
    fn rest(&self) -> Option<&'a [u8]> {
        let [head, content] = self.request;
        let of = |part: &'a [u8], from: usize| part.get(from..).filter(|rest| !rest.is_empty());
        let in_content = || of(content, self.written.saturating_sub(head.len()));
        of(head, self.written).or_else(in_content)
    }
}

impl Connection {
    pub(crate) fn new(stream: Stream, with_cookies: bool) -> Self {
        Self {
            stream,
            reader: Reader::new(with_cookies),
            alarm: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// Whether the server has closed it, or sent something unasked. Costs a system call only if something came.
    pub(crate) async fn is_stale(&mut self, scratch: &Scratch) -> bool {
        std::future::poll_fn(|cx| Poll::Ready(self.poll_some(cx, scratch).is_ready())).await
    }

    /// Sends `request` and reads the complete answer.
    pub(crate) async fn exchange(
        &mut self,
        request: [&[u8]; 2],
        to_head: bool,
        deadline: Instant,
        scratch: &Scratch,
    ) -> Result<Answer, Fault> {
        self.reader.begin(to_head);
        let mut exchange = Exchange {
            request,
            written: 0,
            deadline,
        };
        std::future::poll_fn(|cx| self.poll_exchange(cx, &mut exchange, scratch)).await?;
        let mut answer = self.reader.take();
        // The server answered before it had read the request: the rest of it would be taken for the next one.
        answer.closes |= exchange.rest().is_some();
        Ok(answer)
    }

    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange<'_>,
        scratch: &Scratch,
    ) -> Poll<Result<(), Fault>> {
        // A server may answer before it has read everything. Its answer counts, so after a failed write we read first.
        let unwritten = self.poll_write(cx, exchange);
        loop {
            match self.poll_some(cx, scratch) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) if self.reader.end() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Fault::Closed)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Fault::exchanging(&error))),
                Poll::Ready(Ok(count)) => {
                    let scratch = scratch.borrow();
                    let piece = scratch.get(..count).unwrap_or_default();
                    match self.reader.feed(piece) {
                        Ok(Step::More) => (),
                        // An unrequested answer follows, or the rest of our request has nowhere to go.
                        Ok(Step::Done { used }) if used < count => {
                            return Poll::Ready(Err(Fault::Garbage));
                        }
                        Ok(Step::Done { .. }) => return Poll::Ready(Ok(())),
                        Err(_) => return Poll::Ready(Err(Fault::Garbage)),
                    }
                }
            }
        }
        if let Poll::Ready(Err(error)) = unwritten {
            return Poll::Ready(Err(Fault::exchanging(&error)));
        }
        // A server that is faster than we are uses up the budget that the runtime gives a task at a time. Then the
        // alarm does not ring either, and only the clock tells.
        if self.poll_deadline(cx, exchange.deadline).is_pending()
            && Instant::now() < exchange.deadline
        {
            return Poll::Pending;
        }
        Poll::Ready(Err(if self.reader.has_head() {
            Fault::Endless
        } else {
            Fault::Timeout
        }))
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Poll<io::Result<()>> {
        let mut stream = pin!(&mut self.stream);
        while let Some(rest) = exchange.rest() {
            let written = ready!(stream.as_mut().poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            exchange.written += written;
        }
        stream.as_mut().poll_flush(cx)
    }

    /// Reads what is available into the scratch buffer. Returns 0 at the end.
    fn poll_some(&mut self, cx: &mut Context<'_>, scratch: &Scratch) -> Poll<io::Result<usize>> {
        let mut scratch = scratch.borrow_mut();
        let mut into = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut into))?;
        Poll::Ready(Ok(into.filled().len()))
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        use std::future::Future;
        loop {
            // An alarm later than this deadline would ring too late.
            if self.alarm.deadline() > deadline {
                self.alarm.as_mut().reset(deadline);
            }
            ready!(self.alarm.as_mut().poll(cx));
            if self.alarm.deadline() >= deadline {
                return Poll::Ready(());
            }
            self.alarm.as_mut().reset(deadline);
        }
    }
}
