//! Reading bytes on disk without waiting on a worker's thread.

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

/// At most so many pieces that were given out are kept in view, to be filled again when nobody holds them any more.
const REUSED: usize = 8;

/// Reads bytes from disk, chunk by chunk, each verified before any of it is given out.
#[derive(Debug)]
pub struct Reader {
    open: OpenSource,
    /// Bytes of the whole source.
    whole: u64,
    at: u64,
    end: u64,
    /// The chunk that a thread of the tier reads.
    pending: Option<PendingChunk>,
    /// What was given out.
    given: VecDeque<Bytes>,
    looked: Looked,
}

/// Whether all of a body was looked for in the page cache, and found.
#[derive(Clone, Copy, Debug)]
enum Looked {
    /// Not from its first byte on, or not found.
    No,
    /// All so far, since this second of its device.
    Since(u32),
}

impl Reader {
    /// For the bytes in `at..end` of `whole`.
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

    /// The next piece; `None` at the end. What lies in the page cache is read at once, anything else by a thread of the tier.
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

    /// As [`poll_next`](Self::poll_next), for who can send from a file: what was verified before and lies in the page cache is
    /// not read again.
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

    /// What can be sent from the file as it lies there, from here on.
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

    /// The bytes up to `end` were looked for in the page cache and found. Once those are all, nobody need look again for a moment.
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
                Err(Missed::Damaged | Missed::Failed) => return Poll::Ready(Some(Err(Failed))),
            }
        }
        let Some(pending) = &mut self.pending else {
            return Poll::Ready(Some(Err(Failed)));
        };
        let read = ready!(Pin::new(pending).poll(context));
        self.pending = None;
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
