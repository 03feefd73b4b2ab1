//! Bytes on disk, and how they are read.

use super::{
    Doing, Failed,
    device::{Device, Manner, Missed},
    format::CHUNK,
    large::Large,
    layout,
    record::Inline,
    segment::Segment,
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

    /// For who reads: the file stays open meanwhile.
    fn open(&self) -> Open {
        let segment = match self {
            Self::Large(_) => None,
            Self::Inline(inline) => inline.segment(),
        };
        Open {
            source: self.clone(),
            segment,
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

    /// Whether all of it was seen to lie in the page cache a moment ago.
    fn was_at_hand(&self) -> bool {
        matches!(self, Self::Inline(inline) if inline.was_at_hand())
    }

    fn see_at_hand(&self) {
        if let Self::Inline(inline) = self {
            inline.see_at_hand();
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

/// A source with its file.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub source: Source,
    segment: Option<Arc<Segment>>,
}

impl Open {
    /// The file; `None` where a large one is not made yet, or a segment is gone.
    pub fn file(&self) -> Option<&File> {
        match &self.source {
            Source::Large(large) => large.file(),
            Source::Inline(_) => self.segment.as_ref().map(|segment| &segment.file),
        }
    }

    fn is_at_hand(&self, at: u64) -> bool {
        let source = &self.source;
        let file = self.file();
        file.is_some_and(|file| source.device().is_at_hand(file, source.offset(at)))
    }
}

/// Bytes on disk: a body, or a span of one. Cheap to clone. Keeps a file of its own open, and of a segment nothing: who holds
/// these bytes for long asks [`is_gone`](Self::is_gone) before a use.
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

    /// Whether it is gone, turned out to be damaged or could not be read, or the device is out of order now: nothing of it is to
    /// be promised to anybody. Bytes that nobody has read may still turn out to be bad.
    pub fn is_broken(&self) -> bool {
        self.source.is_failed()
            || self.is_gone()
            || !self.source.device().health.may(Doing::Reading)
    }

    /// Whether its segment has made room for others: the tier may have the bytes in another.
    pub fn is_gone(&self) -> bool {
        match &self.source {
            Source::Large(_) => false,
            Source::Inline(inline) => inline.is_gone(),
        }
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
            open: self.source.open(),
            whole: self.whole,
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
        let open = self.source.open();
        while at < end {
            let number = at / CHUNK as u64;
            let chunk = open.chunk(number, self.whole, Vec::new(), Manner::Waiting);
            let piece = cut(number, &chunk.map_err(|_| Failed)?, at, end);
            if piece.is_empty() {
                return Err(Failed);
            }
            at += piece.len() as u64;
            see(piece);
        }
        Ok(())
    }
}

impl Open {
    /// Reads chunk `number` of the `whole` bytes and verifies it, into `buffer`.
    fn chunk(
        &self,
        number: u64,
        whole: u64,
        mut buffer: Vec<u8>,
        manner: Manner,
    ) -> Result<Bytes, Missed> {
        let length = chunk_end(number, whole).saturating_sub(begin(number)) as usize;
        buffer.resize(length, 0);
        match &self.source {
            Source::Large(large) => {
                large.read(number, &mut buffer, manner)?;
                if large.is_whole() {
                    large.sound.mark(number, whole);
                }
            }
            Source::Inline(inline) => {
                let file = self.file().ok_or(Missed::Failed)?;
                inline.read(file, number, &mut buffer, manner)?;
                inline.mark(number, whole);
            }
        }
        Ok(buffer.into())
    }

    /// The first chunk of those in `at..end`, of `whole` bytes, that does not lie in the page cache.
    pub fn first_missing(&self, at: u64, end: u64, whole: u64) -> Option<u64> {
        let mut chunks = at / CHUNK as u64..end.div_ceil(CHUNK as u64);
        chunks.find(|number| {
            let last = chunk_end(*number, whole).min(end).saturating_sub(1);
            !(self.is_at_hand(begin(*number).max(at)) && self.is_at_hand(last))
        })
    }

    /// Has chunk `number` of the `whole` bytes read by a thread of the tier; `None` where that is closed. It is never refused,
    /// since the head may be sent: a reader has one job at most, and so there are no more than readers.
    pub fn read_aside(&self, number: u64, whole: u64) -> Option<Waiting> {
        let (answer, waiting) = oneshot::channel();
        let open = self.clone();
        let read = move || {
            let chunk = open.chunk(number, whole, Vec::new(), Manner::Waiting);
            // Who asked may have gone.
            let _ = answer.send(chunk.map_err(|_| Failed));
        };
        let readers = &self.source.device().readers;
        readers.run_always(read).then_some(waiting)
    }
}

/// What of chunk `number` lies in `at..end`.
fn cut(number: u64, chunk: &Bytes, at: u64, end: u64) -> Bytes {
    let first = begin(number);
    let to = (end.saturating_sub(first) as usize).min(chunk.len());
    let from = at.saturating_sub(first) as usize;
    chunk.slice(from.min(to)..to)
}

/// Where chunk `number` of `whole` bytes ends.
pub(super) fn chunk_end(number: u64, whole: u64) -> u64 {
    begin(number.saturating_add(1)).min(whole)
}

/// Where chunk `number` begins.
fn begin(number: u64) -> u64 {
    number.saturating_mul(CHUNK as u64)
}

/// A chunk that a thread of the tier reads.
pub(super) type Waiting = oneshot::Receiver<Result<Bytes, Failed>>;

/// Reads bytes from disk, chunk by chunk, each verified before any of it is given out.
#[derive(Debug)]
pub struct Reader {
    open: Open,
    /// Bytes of the whole source.
    whole: u64,
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
            let piece = cut(self.at / CHUNK as u64, &chunk, self.at, self.end);
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
            && !self.is_broken()
            && let Some(span) = self.span()
        {
            self.at += span.len();
            return Poll::Ready(Some(Ok(span.into())));
        }
        let next = ready!(self.poll_next(context));
        Poll::Ready(next.map(|bytes| bytes.map(Part::from)))
    }

    fn is_broken(&self) -> bool {
        let source = &self.open.source;
        source.is_failed() || !source.device().health.may(Doing::Reading)
    }

    /// What can be sent from the file as it lies there, from here on.
    fn span(&self) -> Option<FileSpan> {
        let most = self.end.min(self.at.saturating_add(MOST_SPAN));
        let was_at_hand = self.open.source.was_at_hand();
        let mut end = self.at;
        while end < most {
            let chunk_end = chunk_end(end / CHUNK as u64, self.whole).min(most);
            let is_sound = self.open.source.is_sound(end / CHUNK as u64);
            if !is_sound || !(was_at_hand || self.open.is_at_hand(chunk_end - 1)) {
                break;
            }
            end = chunk_end;
        }
        if end == self.at || !(was_at_hand || self.open.is_at_hand(self.at)) {
            return None;
        }
        if !was_at_hand && self.at == 0 && end == self.whole {
            self.open.source.see_at_hand();
        }
        Some(FileSpan::new(self.open.clone(), self.at, end, self.whole))
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        if self.waiting.is_none() {
            if self.at >= self.end {
                return Poll::Ready(None);
            }
            let number = self.at / CHUNK as u64;
            if let Source::Large(large) = &self.open.source
                && let Err(failed) =
                    ready!(large.poll_readable(chunk_end(number, self.whole), context))
            {
                return Poll::Ready(Some(Err(failed)));
            }
            let spare = self.spare();
            match self.open.chunk(number, self.whole, spare, Manner::AtOnce) {
                Ok(chunk) => return Poll::Ready(Some(Ok(chunk))),
                Err(Missed::Waits) => self.waiting = self.open.read_aside(number, self.whole),
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
