//! The content of one stream as it comes.

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use http::HeaderMap;
use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
};

/// What came in small pieces makes pieces of this many bytes at most.
const JOINED: usize = 16 * 1024;

/// What is shorter is copied: it may be a small part of the buffer in which it came.
const SMALL: usize = 4 * 1024;

/// The content of a stream, and what was [gathered](super::Gathering) of it.
#[derive(Debug)]
pub struct Inlet(Mutex<Content>);

#[derive(Debug)]
struct Content {
    stream: RecvStream,
    gathered: VecDeque<Bytes>,
    /// What follows that and came in small pieces.
    joined: BytesMut,
    /// Who waits for more.
    reader: Option<Waker>,
}

impl Inlet {
    pub(super) fn new(stream: RecvStream) -> Self {
        Self(Mutex::new(Content {
            stream,
            gathered: VecDeque::new(),
            joined: BytesMut::new(),
            reader: None,
        }))
    }

    /// Reads the next piece. What is read makes room for more.
    pub(super) fn poll_data(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
        let mut content = self.lock();
        let polled = match content.next() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => content.stream.poll_data(cx),
        };
        match &polled {
            Poll::Ready(Some(Ok(piece))) => content.release(piece.len()),
            Poll::Ready(_) => {}
            Poll::Pending => content.read_by(cx.waker()),
        }
        polled
    }

    /// Reads what comes until the end, and drops it.
    pub fn poll_end(&self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(Ok(_)) = ready!(self.poll_data(cx)) {}
        Poll::Ready(())
    }

    /// Reads the trailers, once all content was read.
    pub(super) fn poll_trailers(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<HeaderMap>, h2::Error>> {
        self.lock().stream.poll_trailers(cx)
    }

    pub(super) fn is_end_stream(&self) -> bool {
        let content = self.lock();
        content.gathered.is_empty() && content.joined.is_empty() && content.stream.is_end_stream()
    }

    /// Whether any of it has come that was not read, or its end.
    pub(super) fn has_come(&self) -> bool {
        self.gather();
        let content = self.lock();
        !content.gathered.is_empty() || !content.joined.is_empty() || content.stream.is_end_stream()
    }

    /// Takes what has come out of `h2`.
    pub(super) fn gather(&self) {
        let mut content = self.lock();
        let reader = content.reader.clone();
        let reader = reader.as_ref().unwrap_or(Waker::noop());
        let mut cx = Context::from_waker(reader);
        // The end, however it comes, comes again when it is asked for.
        while let Poll::Ready(Some(Ok(data))) = content.stream.poll_data(&mut cx) {
            content.append(data);
        }
    }

    /// Never contended: everything of a connection runs on one thread.
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    fn append(&mut self, data: Bytes) {
        let is_small = data.len() < SMALL;
        let fits = is_small && self.joined.len() + data.len() <= JOINED;
        if !fits && !self.joined.is_empty() {
            let joined = mem::take(&mut self.joined);
            self.gathered.push_back(joined.freeze());
        }
        if is_small {
            self.joined.extend_from_slice(&data);
        } else {
            self.gathered.push_back(data);
        }
    }

    /// The next piece of what was gathered.
    fn next(&mut self) -> Option<Bytes> {
        let joined = &mut self.joined;
        let rest = || (!joined.is_empty()).then(|| mem::take(joined).freeze());
        self.gathered.pop_front().or_else(rest)
    }

    /// Notes who waits for more.
    fn read_by(&mut self, waker: &Waker) {
        match &mut self.reader {
            Some(reader) => reader.clone_from(waker),
            None => self.reader = Some(waker.clone()),
        }
    }

    /// Makes room for `bytes` more. A stream that has ended needs none.
    fn release(&mut self, bytes: usize) {
        let _ = self.stream.flow_control().release_capacity(bytes);
    }
}

impl Drop for Content {
    /// What nobody reads takes room from the connection's other streams.
    fn drop(&mut self) {
        let left = self.gathered.iter().map(Bytes::len).sum::<usize>() + self.joined.len();
        if left > 0 {
            self.release(left);
        }
    }
}
