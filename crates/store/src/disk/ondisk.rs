//! Bytes on disk, and how they are read.

use super::{
    Doing, Failed,
    device::{Device, Manner, Missed},
    format::CHUNK,
    large::Large,
    layout,
    record::Inline,
    span::{FileSpan, MOST_SPAN},
};
use crate::Part;
use bytes::Bytes;
use rules::range::Span;
use std::{
    collections::VecDeque,
    fs::File,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::sync::oneshot;

/// At most so many pieces that were given out are kept in view, to be filled again when nobody holds them any more.
const REUSED: usize = 8;

/// What bytes lie in.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file of their own.
    Large(Arc<Large>),
    /// A record of a segment.
    Inline(Arc<Inline>),
}

impl Source {
    pub fn device(&self) -> &Arc<Device> {
        match self {
            Self::Large(large) => &large.device,
            Self::Inline(inline) => &inline.device,
        }
    }

    /// The file; `None` where a large one is not made yet.
    pub fn file(&self) -> Option<&File> {
        match self {
            Self::Large(large) => large.file(),
            Self::Inline(inline) => Some(inline.file()),
        }
    }

    pub fn path(&self) -> PathBuf {
        match self {
            Self::Large(large) => large.device.large_path(large.id),
            Self::Inline(inline) => inline.path(),
        }
    }

    /// It cannot be read.
    pub fn fail(&self) {
        match self {
            Self::Large(large) => large.fail(),
            Self::Inline(inline) => inline.fail(),
        }
    }

    fn is_failed(&self) -> bool {
        match self {
            Self::Large(large) => large.is_failed(),
            Self::Inline(inline) => inline.is_failed(),
        }
    }

    /// Whether chunk `number` was verified since the program started.
    fn is_sound(&self, number: u64) -> bool {
        match self {
            Self::Large(large) => large.is_sound(number),
            Self::Inline(inline) => inline.is_sound(number),
        }
    }

    /// Where the byte at `at` of the body lies in the file.
    fn offset(&self, at: u64) -> u64 {
        let number = at / CHUNK as u64;
        let first = match self {
            Self::Large(_) => layout::offset(number),
            Self::Inline(inline) => inline.offset(number),
        };
        first + (at - begin(number))
    }

    /// Where the bytes of the body from `at` on lie in the file, and how many of those up to `end` lie together.
    pub fn run(&self, at: u64, end: u64) -> (u64, u64) {
        let end = match self {
            Self::Large(_) => end.min(at.saturating_add(layout::run(at))),
            Self::Inline(_) => end,
        };
        (self.offset(at), end.saturating_sub(at))
    }
}

/// Bytes on disk: a body, or a span of one. Cheap to clone; keeps its file open.
#[derive(Clone, Debug)]
pub struct OnDisk {
    source: Source,
    /// Bytes of the whole source, by which the length of its last chunk is known.
    whole: u64,
    first: u64,
    length: u64,
}

impl OnDisk {
    pub(super) fn large(large: Arc<Large>, whole: u64) -> Self {
        Self {
            source: Source::Large(large),
            whole,
            first: 0,
            length: whole,
        }
    }

    pub(super) fn inline(inline: Arc<Inline>, whole: u64) -> Self {
        Self {
            source: Source::Inline(inline),
            whole,
            first: 0,
            length: whole,
        }
    }

    /// The file of its own that these bytes are all of.
    pub(super) fn whole_file(&self) -> Option<&Arc<Large>> {
        match &self.source {
            Source::Large(large) if self.length == self.whole => Some(large),
            _ => None,
        }
    }

    /// Whether they lie in a segment, with others.
    pub fn is_in_segment(&self) -> bool {
        matches!(self.source, Source::Inline(_))
    }

    /// Whether they lie in a file that is still being written.
    pub(super) fn is_coming(&self) -> bool {
        match &self.source {
            Source::Large(large) => !large.is_whole() && !large.is_failed(),
            Source::Inline(_) => false,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether it turned out to be damaged or could not be read, or the device is out of order now: nothing of it is to be
    /// promised to anybody. Bytes that nobody has read may still turn out to be bad.
    pub fn is_broken(&self) -> bool {
        self.source.is_failed() || !self.source.device().health.may(Doing::Reading)
    }

    /// The part in `span`, relative to these bytes; `None` where it does not lie within them.
    #[must_use]
    pub fn slice(&self, span: Span) -> Option<Self> {
        let fits = span.first <= span.last && span.last < self.length;
        fits.then(|| Self {
            first: self.first + span.first,
            length: span.length(),
            ..self.clone()
        })
    }

    /// Reads from the first byte on.
    pub fn reader(&self) -> Reader {
        Reader {
            at: self.first,
            end: self.first + self.length,
            bytes: self.clone(),
            waiting: None,
            given: VecDeque::new(),
        }
    }

    /// Reads all of it, waiting for the device; every piece goes to `see`.
    pub(super) fn read_all(&self, mut see: impl FnMut(Bytes)) -> Result<(), Failed> {
        let end = self.first + self.length;
        let mut at = self.first;
        if let Source::Large(large) = &self.source
            && large.readable() < end
        {
            return Err(Failed);
        }
        while at < end {
            let number = at / CHUNK as u64;
            let chunk = self.chunk(number, Vec::new(), Manner::Waiting);
            let piece = self.cut(number, &chunk.map_err(|_| Failed)?, at, end);
            if piece.is_empty() {
                return Err(Failed);
            }
            at += piece.len() as u64;
            see(piece);
        }
        Ok(())
    }

    /// Reads chunk `number` and verifies it, into `buffer`.
    fn chunk(&self, number: u64, mut buffer: Vec<u8>, manner: Manner) -> Result<Bytes, Missed> {
        let length = self.chunk_end(number).saturating_sub(begin(number)) as usize;
        buffer.resize(length, 0);
        match &self.source {
            Source::Large(large) => {
                large.read(number, &mut buffer, manner)?;
                if large.is_whole() {
                    large.sound.mark(number, self.whole);
                }
            }
            Source::Inline(inline) => {
                inline.read(number, &mut buffer, manner)?;
                inline.mark(number, self.whole);
            }
        }
        Ok(buffer.into())
    }

    /// Where chunk `number` ends.
    fn chunk_end(&self, number: u64) -> u64 {
        begin(number.saturating_add(1)).min(self.whole)
    }

    /// What of chunk `number` lies in `at..end`.
    fn cut(&self, number: u64, chunk: &Bytes, at: u64, end: u64) -> Bytes {
        let first = begin(number);
        let to = end.min(self.chunk_end(number)).saturating_sub(first) as usize;
        let from = at.saturating_sub(first) as usize;
        let to = to.min(chunk.len());
        chunk.slice(from.min(to)..to)
    }
}

/// Where chunk `number` begins.
fn begin(number: u64) -> u64 {
    number.saturating_mul(CHUNK as u64)
}

type Waiting = oneshot::Receiver<Result<Bytes, Failed>>;

/// Reads bytes from disk, chunk by chunk, each verified before any of it is given out.
#[derive(Debug)]
pub struct Reader {
    bytes: OnDisk,
    at: u64,
    end: u64,
    /// The chunk that a thread of the tier reads.
    waiting: Option<Waiting>,
    /// What was given out.
    given: VecDeque<Bytes>,
}

impl Reader {
    /// The next piece; `None` at the end. What lies in the page cache is read at once, anything else by a thread of the tier.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        let Some(chunk) = ready!(self.poll_chunk(context)) else {
            return Poll::Ready(None);
        };
        let piece = chunk.map(|chunk| {
            let piece = self
                .bytes
                .cut(self.at / CHUNK as u64, &chunk, self.at, self.end);
            self.given.push_back(chunk);
            piece
        });
        match &piece {
            Ok(piece) if !piece.is_empty() => self.at += piece.len() as u64,
            _ => self.at = self.end,
        }
        Poll::Ready(Some(piece))
    }

    /// As [`poll_next`](Self::poll_next), for who can send from a file: what was verified before and lies in the page cache is
    /// not read again.
    pub fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Part, Failed>>> {
        if self.waiting.is_none()
            && !self.bytes.is_broken()
            && let Some(span) = self.span()
        {
            self.at += span.len();
            return Poll::Ready(Some(Ok(span.into())));
        }
        let next = ready!(self.poll_next(context));
        Poll::Ready(next.map(|bytes| bytes.map(Part::from)))
    }

    /// What can be sent from the file as it lies there, from here on.
    fn span(&self) -> Option<FileSpan> {
        let most = self.end.min(self.at.saturating_add(MOST_SPAN));
        let mut end = self.at;
        while end < most {
            let chunk_end = self.bytes.chunk_end(end / CHUNK as u64).min(most);
            if !self.is_ready(end, chunk_end) {
                break;
            }
            end = chunk_end;
        }
        let is_some = end > self.at && self.is_at_hand(self.at);
        is_some.then(|| FileSpan::new(self.bytes.source.clone(), self.at, end))
    }

    /// Whether `from..to`, which lie in one chunk, were verified and lie in the page cache, as far as their last byte shows.
    fn is_ready(&self, from: u64, to: u64) -> bool {
        self.bytes.source.is_sound(from / CHUNK as u64) && self.is_at_hand(to - 1)
    }

    fn is_at_hand(&self, at: u64) -> bool {
        let source = &self.bytes.source;
        let file = source.file();
        file.is_some_and(|file| source.device().is_at_hand(file, source.offset(at)))
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        if self.waiting.is_none() {
            if self.at >= self.end {
                return Poll::Ready(None);
            }
            let number = self.at / CHUNK as u64;
            if let Source::Large(large) = &self.bytes.source
                && let Err(failed) =
                    ready!(large.poll_readable(self.bytes.chunk_end(number), context))
            {
                return Poll::Ready(Some(Err(failed)));
            }
            let spare = self.spare();
            match self.bytes.chunk(number, spare, Manner::AtOnce) {
                Ok(chunk) => return Poll::Ready(Some(Ok(chunk))),
                Err(Missed::Waits) => self.waiting = self.send(number),
                Err(Missed::Damaged | Missed::Failed) => return Poll::Ready(Some(Err(Failed))),
            }
        }
        let Some(waiting) = &mut self.waiting else {
            return Poll::Ready(Some(Err(Failed)));
        };
        let read = ready!(Pin::new(waiting).poll(context));
        self.waiting = None;
        Poll::Ready(Some(read.unwrap_or(Err(Failed))))
    }

    /// Has chunk `number` read by a thread of the tier; `None` where that is closed. It is never refused, since the head may be
    /// sent: a reader has one job at most, and so there are no more than readers.
    fn send(&self, number: u64) -> Option<Waiting> {
        let (answer, waiting) = oneshot::channel();
        let bytes = self.bytes.clone();
        let read = move || {
            let chunk = bytes.chunk(number, Vec::new(), Manner::Waiting);
            // Who asked may have gone.
            let _ = answer.send(chunk.map_err(|_| Failed));
        };
        self.bytes
            .source
            .device()
            .readers
            .run_always(read)
            .then_some(waiting)
    }

    /// A buffer that was given out and that nobody holds any more, or an empty one. A buffer that is filled again need not be
    /// cleared, and lies in the processor's cache.
    fn spare(&mut self) -> Vec<u8> {
        if self.given.len() > REUSED {
            self.given.pop_front();
        }
        match self.given.front() {
            Some(oldest) if oldest.is_unique() => {
                self.given.pop_front().map(Vec::from).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}
