//! Reads bytes on disk without waiting on a worker's thread.

use super::{
    Doing, Failed, chunk,
    device::{Missed, ReadMode},
    format::CHUNK,
    open::{OpenSource, PendingChunk},
    span::{FileSpan, MOST_SPAN},
};
use crate::Part;
use bytes::Bytes;
use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// At most this many pieces that were given out are remembered. Their buffers are filled again when nobody holds them
/// any longer.
const REUSED: usize = 8;

/// Reads bytes from disk, chunk by chunk. Each chunk is verified before any of it is given out.
#[derive(Debug)]
pub struct Reader {
    open: OpenSource,
    /// Bytes of the whole source.
    whole: u64,
    at: u64,
    end: u64,
    /// The chunk that a thread of the tier is reading.
    pending: Option<PendingChunk>,
    /// The chunks that were given out.
    given: VecDeque<Bytes>,
    looked: Looked,
}

/// Whether all of a body has been found in the page cache.
#[derive(Clone, Copy, Debug)]
enum Looked {
    /// Not looked for from the first byte on, or not found.
    No,
    /// All of it so far; the look began at this second of the device.
    Since(u32),
}

impl Reader {
    /// Creates a reader for the bytes in `at..end` of the `whole` bytes.
    pub(super) fn new(open: OpenSource, at: u64, end: u64, whole: u64) -> Self {
        Self {
            open,
            whole,
            at,
            end,
            pending: None,
            given: VecDeque::new(),
            looked: Looked::No,
        }
    }

    /// Returns the next piece, `None` at the end. What is in the page cache is read at once. A thread of the tier reads
    /// anything else.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        let Some(chunk) = ready!(self.poll_chunk(context)) else {
            return Poll::Ready(None);
        };
        let piece = chunk.map(|chunk| {
            let piece = chunk::cut(self.at / CHUNK as u64, &chunk, self.at, self.end);
            self.given.push_back(chunk);
            piece
        });
        match &piece {
            Ok(piece) if !piece.is_empty() => self.at += piece.len() as u64,
            _ => self.at = self.end,
        }
        Poll::Ready(Some(piece))
    }

    /// Like [`poll_next`](Self::poll_next), for callers that can send from a file: what was verified before and is in
    /// the page cache is not read again.
    pub fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Part, Failed>>> {
        if self.pending.is_none()
            && !self.is_broken()
            && let Some(span) = self.span()
        {
            self.at += span.len();
            return Poll::Ready(Some(Ok(span.into())));
        }
        self.looked = Looked::No;
        let next = ready!(self.poll_next(context));
        Poll::Ready(next.map(|bytes| bytes.map(Part::from)))
    }

    fn is_broken(&self) -> bool {
        let source = &self.open.source;
        source.is_failed() || !source.device().health.may(Doing::Reading)
    }

    /// The bytes from here on that can be sent directly from the file.
    fn span(&mut self) -> Option<FileSpan> {
        let most = self.end.min(self.at.saturating_add(MOST_SPAN));
        let was_at_hand = self.open.source.was_at_hand();
        let mut end = self.at;
        while end < most {
            let chunk_end = chunk::end(end / CHUNK as u64, self.whole).min(most);
            let is_sound = self.open.source.is_sound(end / CHUNK as u64);
            if !is_sound || !(was_at_hand || self.open.is_at_hand(chunk_end - 1)) {
                break;
            }
            end = chunk_end;
        }
        if end == self.at || !(was_at_hand || self.open.is_at_hand(self.at)) {
            return None;
        }
        if !was_at_hand {
            self.look(end);
        }
        Some(FileSpan::new(self.open.clone(), self.at, end, self.whole))
    }

    /// Notes that the bytes up to `end` were found in the page cache. Once those are all, nobody need look again for a
    /// moment.
    fn look(&mut self, end: u64) {
        let device = self.open.source.device();
        let since = match self.looked {
            _ if self.at == 0 => device.seconds(),
            Looked::Since(second) => second,
            Looked::No => return,
        };
        self.looked = Looked::Since(since);
        if end == self.whole {
            self.open.source.see_at_hand(since);
        }
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        if self.pending.is_none() {
            if self.at >= self.end {
                return Poll::Ready(None);
            }
            let number = self.at / CHUNK as u64;
            let spare = self.spare();
            match self
                .open
                .chunk(number, self.whole, spare, ReadMode::NonBlocking)
            {
                Ok(chunk) => return Poll::Ready(Some(Ok(chunk))),
                Err(Missed::Waits) => self.pending = self.open.read_aside(number, self.whole),
                Err(Missed::Damaged | Missed::Failed | Missed::Rests) => {
                    return Poll::Ready(Some(Err(Failed)));
                }
            }
        }
        let Some(pending) = &mut self.pending else {
            return Poll::Ready(Some(Err(Failed)));
        };
        let read = ready!(Pin::new(pending).poll(context));
        self.pending = None;
        Poll::Ready(Some(read.unwrap_or(Err(Failed))))
    }

    /// Returns a buffer that was given out and that nobody holds any longer, or an empty one. A buffer that is filled
    /// again need not be cleared, and lies in the processor's cache.
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
