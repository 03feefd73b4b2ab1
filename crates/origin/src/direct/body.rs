//! The content of an answer, read on demand.

mod room;

use super::{
    desk,
    exchange::broken,
    framing::{Framing, Taken, Wrong},
    link::Link,
};
use crate::{Error, Kind, fetch_guard::FetchGuard, pool::Single};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use room::Room;
use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes still to come above which content is read into memory of its own. Other content goes through the worker's
/// memory.
const LARGE: u64 = 16 * 1024;

/// Bytes read at once while the caller is short of memory.
pub const LITTLE: usize = 4 * 1024;

/// The content of one answer. If it is read to its end, the connection returns to the pool of the worker that read it.
/// If it is dropped before, the connection closes.
pub(crate) struct Body {
    /// `None`: nothing more is read.
    link: Option<Link>,
    /// What the fetch holds while more is to come.
    guard: Option<FetchGuard>,
    framing: Framing,
    /// Content that is here and not handed on.
    ahead: Bytes,
    /// Why what follows `ahead` is no chunk.
    wrong: Option<&'static str>,
    keeps: bool,
    /// Whether something was handed on since the alarm was set.
    moved: bool,
    room: Room,
    /// Whether the caller is short of memory.
    short: bool,
}

impl Body {
    /// Makes the content that comes on `link`. `behind` came with the head, and is read after [`hold`](Self::hold).
    /// Boxed here because each caller that awaits an answer moves it.
    pub(super) fn new(link: Link, framing: Framing, behind: Bytes, keeps: bool) -> Box<Self> {
        Box::new(Self {
            link: Some(link),
            guard: None,
            framing,
            ahead: behind,
            wrong: None,
            keeps,
            moved: true,
            room: Room::default(),
            short: false,
        })
    }

    /// Takes over what the fetch holds, until the content has ended.
    pub(crate) fn hold(&mut self, guard: FetchGuard) {
        self.guard = Some(guard);
        let behind = std::mem::take(&mut self.ahead);
        self.take(|framing| framing.take_whole(behind));
    }

    /// See `ResponseBody::take_whole`.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        let is_there = self.link.is_none() && matches!(self.framing, Framing::Length(0));
        is_there.then(|| std::mem::take(&mut self.ahead))
    }

    /// Sets whether the caller is `short` of memory: then at most [`LITTLE`] is read at once, and nothing else is held.
    pub(crate) fn read_little_if(&mut self, short: bool) {
        self.short = short;
        if short {
            self.room = Room::default();
        }
    }

    /// Takes in the result of `take`.
    fn take(&mut self, take: impl FnOnce(&mut Framing) -> Taken) {
        let Taken { data, ended, wrong } = take(&mut self.framing);
        self.ahead = data;
        match wrong {
            Some(Wrong::Surplus) => self.keeps = false,
            Some(Wrong::Chunks(why)) => self.wrong = Some(why),
            None => {}
        }
        if ended {
            self.finish();
        }
    }

    /// Ends the content. The connection may serve the next fetch.
    fn finish(&mut self) {
        let (Some(mut link), Some(guard)) = (self.link.take(), self.guard.take()) else {
            return;
        };
        link.reused = true;
        guard.end(self.keeps.then_some(Single::Direct(link)));
    }

    /// Fails the content. The connection closes.
    fn fail(&mut self, error: Error) -> Error {
        self.ahead.clear();
        self.framing = Framing::Length(0);
        self.link = None;
        match self.guard.take() {
            Some(guard) => guard.blame(error),
            None => error,
        }
    }

    /// Reads once. Returns false at the end of the connection.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if let Framing::Length(left) = self.framing
            && left > LARGE
            && !self.short
            && self.room.reserve(left)
        {
            return self.poll_large(cx, left);
        }
        let most = if self.short { LITTLE } else { desk::READ };
        desk::to_read(|buffer| {
            let Some(link) = &mut self.link else {
                return Poll::Ready(Ok(false));
            };
            let mut buffer = ReadBuf::new(buffer.get_mut(..most).unwrap_or_default());
            ready!(Pin::new(&mut link.stream).poll_read(cx, &mut buffer))?;
            let came = buffer.filled();
            if came.is_empty() {
                return Poll::Ready(Ok(false));
            }
            self.take(|framing| framing.take(came));
            Poll::Ready(Ok(true))
        })
    }

    /// Reads once, into memory that is handed on without a copy. `left` bytes are still to come.
    fn poll_large(&mut self, cx: &mut Context<'_>, left: u64) -> Poll<io::Result<bool>> {
        let Some(link) = &mut self.link else {
            return Poll::Ready(Ok(false));
        };
        let Some(data) = ready!(self.room.poll_read(cx, &mut link.stream, left))? else {
            return Poll::Ready(Ok(false));
        };
        self.take(|framing| framing.take_whole(data));
        Poll::Ready(Ok(true))
    }

    /// Reads until something is here, or checks whether a limit has run out.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while self.ahead.is_empty() && self.wrong.is_none() && self.link.is_some() {
            let read = match self.poll_read(cx) {
                Poll::Ready(read) => read,
                Poll::Pending => return self.poll_alarm(cx).map(Err),
            };
            match read {
                Ok(true) => {}
                Ok(false) if matches!(self.framing, Framing::UntilClose) => self.finish(),
                Ok(false) => return Poll::Ready(Err(Error::new(Kind::Truncated))),
                Err(cause) => return Poll::Ready(Err(broken(cause))),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let (Some(link), Some(guard)) = (&mut self.link, &self.guard) else {
            return Poll::Pending;
        };
        let moved = std::mem::take(&mut self.moved);
        guard.pace.poll(&mut link.alarm, moved, cx)
    }

    /// Takes the content that is here. `None`: the end.
    fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.ahead.is_empty() {
            return match self.wrong.take() {
                Some(why) => Err(Error::new(Kind::Malformed).because(why)),
                None => Ok(None),
            };
        }
        self.moved = true;
        if let Some(guard) = &self.guard {
            guard.pace.check()?;
        }
        Ok(Some(std::mem::take(&mut self.ahead)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        let piece = ready!(this.poll_more(cx)).and_then(|()| this.next());
        Poll::Ready(match piece {
            Ok(piece) => piece.map(|piece| Ok(Frame::data(piece))),
            Err(error) => Some(Err(this.fail(error))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.link.is_none() && self.ahead.is_empty()
    }

    /// The exact length, if the origin announced it, whatever has come already.
    fn size_hint(&self) -> SizeHint {
        match &self.framing {
            Framing::Length(left) => {
                SizeHint::with_exact(left.saturating_add(self.ahead.len() as u64))
            }
            _ if self.is_end_stream() => SizeHint::with_exact(0),
            Framing::Chunked(_) | Framing::UntilClose => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("framing", &self.framing)
            .field("ahead", &self.ahead.len())
            .field("ended", &self.link.is_none())
            .finish_non_exhaustive()
    }
}
