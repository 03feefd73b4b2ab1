//! Bodies towards and from an origin.

mod incoming;

pub(crate) use incoming::Incoming;

use crate::{
    Error, Kind, direct,
    fetch_guard::FetchGuard,
    files::Streamed,
    link::{Alarm, Driver, Http1, Listening, StreamSlot},
    message::Afterwards,
    pool::Single,
    upload::Upload,
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

/// A request body. A boxed `http_body_util::Empty` costs nothing. The error is the client's. A body that limits the time
/// between its pieces heeds [`is_look`](crate::is_look).
pub type RequestBody =
    http_body_util::combinators::UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A response body under the time limits between bytes and in all.
/// Implements `http_body::Body<Data = Bytes, Error = crate::Error>`.
///
/// Ends with `Kind::Truncated` if the origin stops short. Dropping it cancels the fetch.
#[derive(Debug)]
pub struct ResponseBody(Via);

/// Where a body comes from. Boxed because it is moved often.
#[derive(Debug)]
enum Via {
    /// A server, over HTTP/1.1 without hyper.
    Direct(Box<direct::Body>),
    /// A server, over HTTP.
    Http(Box<HttpBody>),
    /// A large file of a folder.
    File(Box<Streamed>),
    /// Anywhere else.
    Own(OwnBody),
}

/// A body that checks its own limits and releases what it holds by itself.
type OwnBody = http_body_util::combinators::UnsyncBoxBody<Bytes, Error>;

/// A body that is read from a server.
///
/// If an HTTP/1.1 body is read to its end, its connection returns to the pool of the worker that read it. If it is
/// dropped before, the connection closes.
struct HttpBody {
    incoming: Incoming,
    /// `None`: the body has ended, well or badly.
    under_way: Option<UnderWay>,
    /// Whether something has come since the alarm was set.
    moved: bool,
}

/// What a body arrives on.
pub(crate) enum Carrier {
    Http1 {
        link: Http1,
        afterwards: Afterwards,
    },
    Http2 {
        alarm: Alarm,
        listening: Listening,
        /// The task that still sends the request's content, if any. It ends with the answer.
        _uploading: Option<Driver>,
        /// Held so that the connection counts as in use.
        _slot: StreamSlot,
    },
    /// The connection belongs to the holder of the upgrade, and there is no body. Its server counts as serving while
    /// this is held.
    Upgraded,
}

/// What a body arrives on, and the request's own body, which may still be on its way.
pub(crate) struct Carried {
    pub(crate) carrier: Carrier,
    pub(crate) upload: Upload,
}

/// What a fetch holds until its body has ended.
pub(crate) struct UnderWay {
    pub(crate) carried: Carried,
    pub(crate) guard: FetchGuard,
}

impl ResponseBody {
    pub(crate) fn new(incoming: Incoming, under_way: UnderWay) -> Self {
        Self(Via::Http(Box::new(HttpBody::new(incoming, under_way))))
    }

    /// Makes a body that comes without hyper.
    pub(crate) fn direct(body: Box<direct::Body>) -> Self {
        Self(Via::Direct(body))
    }

    /// Sets whether the caller is `short` of memory: then at most [`LITTLE`](crate::LITTLE) bytes are read at once, and
    /// nothing else is held. hyper's pieces are no larger than its own buffers.
    pub fn read_little_if(&mut self, short: bool) {
        match &mut self.0 {
            Via::Direct(body) => body.read_little_if(short),
            Via::File(body) => body.read_little_if(short),
            Via::Http(_) | Via::Own(_) => {}
        }
    }

    /// Takes the whole body, if its length was announced and all of it has come already.
    pub fn take_whole(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Via::Direct(body) => body.take_whole(),
            Via::Http(_) | Via::File(_) | Via::Own(_) => None,
        }
    }

    /// Returns how many bytes may arrive and wait here while nobody reads the body, besides the buffer that is read
    /// into. Over HTTP/2, a connection is read for all of its streams. A piece of a file is read by another thread.
    pub fn unread(&self) -> u64 {
        match &self.0 {
            Via::Http(body) => body.incoming.unread(),
            Via::File(body) => body.unread(),
            Via::Direct(_) | Via::Own(_) => 0,
        }
    }

    /// Makes a body of a large file.
    pub(crate) fn file(file: Streamed) -> Self {
        Self(Via::File(Box::new(file)))
    }

    /// Makes a body that does not come over HTTP.
    pub(crate) fn own<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error = Error> + Send + 'static,
    {
        Self(Via::Own(OwnBody::new(body)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.get_mut().0 {
            Via::Direct(body) => Pin::new(&mut **body).poll_frame(cx),
            Via::Http(body) => Pin::new(&mut **body).poll_frame(cx),
            Via::File(body) => Pin::new(&mut **body).poll_frame(cx),
            Via::Own(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Via::Direct(body) => body.is_end_stream(),
            Via::Http(body) => body.is_end_stream(),
            Via::File(body) => body.is_end_stream(),
            Via::Own(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Via::Direct(body) => body.size_hint(),
            Via::Http(body) => body.size_hint(),
            Via::File(body) => body.size_hint(),
            Via::Own(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody")
            .field("incoming", &self.incoming)
            .field("ended", &self.under_way.is_none())
            .finish_non_exhaustive()
    }
}

impl HttpBody {
    fn new(incoming: Incoming, under_way: UnderWay) -> Self {
        // After a switch, the other protocol follows the head.
        let upgraded = matches!(under_way.carried.carrier, Carrier::Upgraded);
        let ended = incoming.is_ended() && !upgraded;
        let mut body = Self {
            incoming,
            under_way: Some(under_way),
            moved: true,
        };
        if ended {
            body.finish();
        }
        body
    }

    /// Ends the body. Its connection may serve the next fetch.
    fn finish(&mut self) {
        let Some(under_way) = self.under_way.take() else {
            return;
        };
        let link = match under_way.carried.carrier {
            Carrier::Http1 {
                link,
                afterwards: Afterwards::Reuse,
            } => Some(Single::Http1(link)),
            _ => None,
        };
        under_way.guard.end(link);
    }

    /// Whether hyper says that the body has ended, but the server did not.
    fn is_short(&self) -> bool {
        let under_way = self.under_way.as_ref();
        match under_way.map(|under_way| &under_way.carried.carrier) {
            Some(Carrier::Http1 { .. }) => self
                .incoming
                .size_hint()
                .exact()
                .is_some_and(|left| left > 0),
            Some(Carrier::Http2 { .. } | Carrier::Upgraded) | None => false,
        }
    }

    /// Fails the body. The connection closes, and the server is blamed if it is at fault.
    fn fail(&mut self, error: Error) -> Error {
        match self.under_way.take() {
            Some(UnderWay { carried, guard }) if carried.upload.has_failed() => {
                guard.blame(Error::new(Kind::RequestBody).because(error))
            }
            Some(under_way) => under_way.guard.blame(error),
            None => error,
        }
    }

    /// Checks whether a limit has run out. Called when nothing has come.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let Some(under_way) = &mut self.under_way else {
            return Poll::Pending;
        };
        let Carried { carrier, upload } = &mut under_way.carried;
        let (alarm, mut listening) = match carrier {
            Carrier::Http1 { link, .. } => (&mut link.alarm, None),
            Carrier::Http2 {
                alarm, listening, ..
            } => (alarm, Some(listening)),
            Carrier::Upgraded => return Poll::Pending,
        };
        let moved = std::mem::take(&mut self.moved);
        if moved && let Some(listening) = &mut listening {
            listening.goes_on();
        }
        let pace = under_way.guard.pace;
        let polled = pace.poll_beside(upload.awaited(), alarm, moved, cx);
        if polled.is_ready()
            && let Some(listening) = listening
        {
            listening.ran_out();
        }
        polled
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        let Some(pace) = this
            .under_way
            .as_ref()
            .map(|under_way| under_way.guard.pace)
        else {
            return Poll::Ready(None);
        };
        match this.incoming.poll(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.moved = true;
                if this.incoming.is_ended() {
                    this.finish();
                } else if let Err(late) = pace.check() {
                    return Poll::Ready(Some(Err(this.fail(late))));
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) if this.is_short() => {
                Poll::Ready(Some(Err(this.fail(Error::new(Kind::Truncated)))))
            }
            Poll::Ready(None) => {
                this.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(this.fail(error)))),
            Poll::Pending => this.poll_alarm(cx).map(|error| Some(Err(this.fail(error)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.under_way.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.under_way.is_none() {
            // For an answer to HEAD, HTTP/2 still gives the length that the head names.
            return SizeHint::with_exact(0);
        }
        self.incoming.size_hint()
    }
}
