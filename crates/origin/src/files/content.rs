//! The bytes of a file on their way out.

use super::facts::Facts;
use crate::{Error, Kind, LITTLE, ResponseBody, gate::Pass};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use rules::range::Span;
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::task::{JoinHandle, spawn_blocking};

/// Largest body that is read at once, when the file is opened.
pub(crate) const AT_ONCE: u64 = 64 << 10;

/// Bytes of a larger body that are read at a time, unless memory is short.
const PIECE: u64 = 128 << 10;

/// The content to send of a file.
#[derive(Debug)]
pub(crate) enum Content {
    /// These bytes.
    Read(Bytes),
    /// A part of the file, or all of it.
    Open(Arc<File>, Facts, Span),
}

impl Content {
    /// Makes the body. `pass` is given back when the file is closed.
    pub(crate) fn into_body(self, pass: Pass) -> ResponseBody {
        match self {
            Self::Read(bytes) => {
                ResponseBody::own(Full::new(bytes).map_err(|never| match never {}))
            }
            Self::Open(file, facts, Span { first, last }) => ResponseBody::file(Streamed {
                file,
                facts,
                at: first,
                end: last.saturating_add(1),
                little: false,
                reading: None,
                _pass: pass,
            }),
        }
    }
}

/// Reads the piece of `file` from `at` to `end`. Returns it, and what is known about the file afterwards. Blocks on the
/// device.
///
/// # Errors
/// The device fails; or the file is no longer as in `facts` (`UnexpectedEof`), so that the bytes may belong to two
/// contents.
pub(crate) fn read(file: &File, facts: &Facts, at: u64, end: u64) -> io::Result<(Bytes, Facts)> {
    let mut piece = vec![0; usize::try_from(end.saturating_sub(at)).unwrap_or(0)];
    file.read_exact_at(&mut piece, at)?;
    let now = Facts::of(&file.metadata()?);
    if now.has_content_of(facts) {
        Ok((piece.into(), now))
    } else {
        Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file was changed while it was read",
        ))
    }
}

/// A large file, sent piece by piece.
#[derive(Debug)]
pub(crate) struct Streamed {
    file: Arc<File>,
    /// As they were when the last piece was read: what explains one change does not explain the next.
    facts: Facts,
    at: u64,
    end: u64,
    /// Whether the caller is short of memory.
    little: bool,
    /// The piece that is being read.
    reading: Option<Reading>,
    _pass: Pass,
}

/// A piece that is being read, and its length.
type Reading = (u64, JoinHandle<io::Result<(Bytes, Facts)>>);

impl Streamed {
    /// See [`ResponseBody::read_little_if`].
    pub(crate) fn read_little_if(&mut self, short: bool) {
        self.little = short;
    }

    /// See [`ResponseBody::unread`].
    pub(crate) fn unread(&self) -> u64 {
        self.reading.as_ref().map_or(0, |(length, _)| *length)
    }

    fn failed(&mut self, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.at = self.end;
        Error::new(Kind::Truncated).because(why)
    }
}

impl Body for Streamed {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if this.at >= this.end {
            return Poll::Ready(None);
        }
        let (_, reading) = this.reading.get_or_insert_with(|| {
            let (file, facts, at) = (Arc::clone(&this.file), this.facts, this.at);
            let most = if this.little { LITTLE as u64 } else { PIECE };
            let end = this.end.min(at.saturating_add(most));
            let reading = spawn_blocking(move || read(&file, &facts, at, end));
            (end - at, reading)
        });
        let read = ready!(Pin::new(reading).poll(cx));
        this.reading = None;
        Poll::Ready(Some(match read {
            Ok(Ok((piece, facts))) => {
                this.facts = facts;
                this.at = this.at.saturating_add(piece.len() as u64);
                Ok(Frame::data(piece))
            }
            Ok(Err(error)) => Err(this.failed(error)),
            Err(error) => Err(this.failed(error)),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.at >= self.end
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end.saturating_sub(self.at))
    }
}
