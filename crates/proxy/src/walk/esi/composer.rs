//! The body of a composed page: read ahead, includes side by side, sent in order.

use super::{
    ahead,
    context::Context,
    fragment::Fate,
    segment::{Buffered, FetchPriority, Segment, Segments, Side, Try, forward, read_ahead},
    source::PageSource,
};
use crate::body::{Content, Error};
use bytes::{Bytes, BytesMut};
use esi::{Run, Step};
use std::{
    fmt,
    rc::Rc,
    task::{self, Poll, Waker, ready},
};
use store::{BodyPiece, Reservation};

/// Includes of one page that hold or await a connection at the same time, at most.
const SIDE_BY_SIDE: usize = 8;

/// Segments read ahead of what is sent: more than there are with as many includes as a page may have.
const AHEAD: Buffered = Buffered {
    segments: 1024,
    bytes: 256 << 10,
};

/// The most that an attempt may hold, which is read to its end before any of it is sent.
const LARGEST_TRY: Buffered = Buffered {
    segments: 4096,
    bytes: 1 << 20,
};

/// The largest page that is put together in one buffer.
const ONE_BUFFER: usize = 64 << 10;

/// The body of a composed page.
pub struct Composer {
    context: Rc<Context>,
    source: PageSource,
    run: Run,
    queue: Segments,
    /// Attempts that are being read, one within the other.
    open: Vec<Try>,
    buffered: Buffered,
    /// For what is read beyond [`AHEAD`] while a fragment is awaited.
    room: Reservation,
    ended: bool,
}

impl fmt::Debug for Composer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composer")
            .field("queue", &self.queue)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// An attempt holds more than is kept of any.
#[derive(Debug, thiserror::Error)]
#[error("an attempt is too large")]
struct TooLarge;

impl Composer {
    /// The body of the page that `source` brings, as it is composed for `context`. Nothing is read or asked for yet.
    pub fn new(context: Rc<Context>, source: PageSource) -> Self {
        Self {
            room: context.worker().cache.memory.budget().reservation(),
            context,
            source,
            run: Run::new(),
            queue: Segments::new(),
            open: Vec::new(),
            buffered: Buffered::default(),
            ended: false,
        }
    }

    /// Whether it follows a fill.
    pub fn follows(&self) -> bool {
        self.source.follows()
    }

    /// The next bytes; `None` at the end. After an error it is not polled again.
    pub fn poll(&mut self, task: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            let read = self.read(task);
            if let Poll::Ready(Err(error)) = read {
                return Poll::Ready(Some(Err(error)));
            }
            self.forward(task);
            if let Err(error) = self.read_on(task) {
                return Poll::Ready(Some(Err(error)));
            }
            match self.queue.front_mut() {
                Some(Segment::Text(_)) => {
                    if let Some(Segment::Text(text)) = self.queue.pop_front() {
                        self.buffered.segments -= 1;
                        self.buffered.bytes -= text.len();
                        self.room.shrink_to(self.beyond());
                        return Poll::Ready(Some(Ok(text)));
                    }
                }
                Some(Segment::Include(fragment)) => {
                    if let Some(read) = ready!(fragment.poll_next(task)) {
                        return Poll::Ready(Some(read));
                    }
                    self.queue.pop_front();
                    self.buffered.segments -= 1;
                }
                Some(Segment::Try(both)) => match both.fate() {
                    Fate::Open => return Poll::Pending,
                    fate => self.settle(fate),
                },
                None if self.ended => return Poll::Ready(None),
                None => match read {
                    Poll::Pending => return Poll::Pending,
                    // There was no room, and there is nothing to send: an attempt fills it.
                    Poll::Ready(_) => return Poll::Ready(Some(Err(Box::new(TooLarge)))),
                },
            }
        }
    }

    /// Reads, as far as there is room.
    fn read(&mut self, task: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        while !self.ended && self.has_room() {
            ready!(self.step(task))?;
        }
        Poll::Ready(Ok(()))
    }

    fn has_room(&self) -> bool {
        // Nothing is sent before the attempt has been read.
        let most = if self.queue.is_empty() && !self.open.is_empty() {
            LARGEST_TRY
        } else {
            AHEAD
        };
        self.buffered.segments < most.segments && self.buffered.bytes < most.bytes
    }

    /// Reads on where a fragment is awaited that may need a turn which this page, or a fragment of it, holds.
    fn read_on(&mut self, task: &mut task::Context<'_>) -> Result<(), Error> {
        if !self.queue.front().is_some_and(Segment::is_awaited) {
            return Ok(());
        }
        while self.has_room_beyond() {
            match self.step(task) {
                Poll::Ready(read) => read?,
                Poll::Pending => break,
            }
        }
        read_ahead(&mut self.queue, &self.context, task);
        Ok(())
    }

    fn has_room_beyond(&mut self) -> bool {
        let beyond = self.beyond();
        let memory = &self.context.worker().cache.memory;
        !self.ended
            && self.source.holds_turn()
            && self.buffered.segments < AHEAD.segments
            && beyond < self.context.largest
            && ahead::has_room(&mut self.room, memory, beyond)
    }

    /// Bytes held beyond what any page may hold.
    const fn beyond(&self) -> u64 {
        self.buffered.bytes.saturating_sub(AHEAD.bytes) as u64
    }

    /// Reads the next of the page.
    fn step(&mut self, task: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        let (run, context) = (&mut self.run, &*self.context);
        let step = self
            .source
            .poll_step(task, |token| run.step(token, context));
        match ready!(step) {
            Some(Ok(Some(step))) => self.take(step),
            Some(Ok(None)) => {}
            Some(Err(error)) => return Poll::Ready(Err(error)),
            None => self.ended = true,
        }
        Poll::Ready(Ok(()))
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Text(span) => {
                let text = self.source.bytes(span);
                self.push(Segment::Text(text));
            }
            Step::Value(value) => self.push(Segment::Text(value.into())),
            Step::Include(address) => self.push(Segment::Include(address.into())),
            Step::Try => self.open.push(Try::default()),
            Step::Attempt => self.turn(Side::Attempt),
            Step::Except => self.turn(Side::Except),
            Step::End => self.end(),
        }
    }

    fn push(&mut self, segment: Segment) {
        let bytes = match &segment {
            Segment::Text(text) => text.len(),
            Segment::Include(_) | Segment::Try(_) => 0,
        };
        let segments = match self.open.last_mut() {
            None => &mut self.queue,
            Some(both) => match both.reading() {
                Some(side) => side,
                None => return,
            },
        };
        self.buffered = self.buffered.with(1, bytes);
        segments.push_back(segment);
    }

    fn turn(&mut self, side: Side) {
        if let Some(both) = self.open.last_mut() {
            both.side = Some(side);
        }
    }

    /// The end of a side, or of an attempt with both.
    fn end(&mut self) {
        let Some(mut both) = self.open.pop() else {
            return;
        };
        if both.side.take().is_some() {
            self.open.push(both);
        } else {
            self.push(Segment::Try(Box::new(both)));
        }
    }

    /// An attempt that comes next has succeeded or failed: one of its sides takes its place.
    fn settle(&mut self, fate: Fate) {
        if let Some(Segment::Try(both)) = self.queue.pop_front() {
            let Try {
                attempt, except, ..
            } = *both;
            let mut taken = if fate == Fate::Good { attempt } else { except };
            taken.append(&mut self.queue);
            self.queue = taken;
            self.buffered = self
                .open
                .iter()
                .fold(Buffered::of(&self.queue), |buffered, both| {
                    let (attempt, except) =
                        (Buffered::of(&both.attempt), Buffered::of(&both.except));
                    buffered
                        .with(attempt.segments, attempt.bytes)
                        .with(except.segments, except.bytes)
                });
        }
    }

    fn forward(&mut self, task: &mut task::Context<'_>) {
        let mut most = SIDE_BY_SIDE;
        forward(
            &mut self.queue,
            &self.context,
            task,
            &mut most,
            FetchPriority::Next,
        );
        for both in &mut self.open {
            forward(
                &mut both.attempt,
                &self.context,
                task,
                &mut most,
                FetchPriority::Later,
            );
        }
    }

    /// All of it and its length, where everything is at hand: a stored page with stored fragments.
    pub fn at_once(&mut self) -> Option<(Content, u64)> {
        if !matches!(self.source, PageSource::Kept { .. }) {
            return None;
        }
        // Whatever is waited for is polled again by whoever sends.
        let mut task = task::Context::from_waker(Waker::noop());
        let _ = self.read(&mut task);
        self.forward(&mut task);
        let at_hand = self.ended
            && self.queue.iter().all(|segment| match segment {
                Segment::Text(_) => true,
                Segment::Include(fragment) => fragment.is_whole(),
                Segment::Try(_) => false,
            });
        if !at_hand {
            return None;
        }
        let pieces: Vec<Bytes> = self
            .queue
            .drain(..)
            .filter_map(|segment| match segment {
                Segment::Text(text) => Some(text),
                Segment::Include(mut fragment) => fragment.whole(),
                Segment::Try(_) => None,
            })
            .collect();
        let length: usize = pieces.iter().map(Bytes::len).sum();
        let content = if length <= ONE_BUFFER {
            let mut one = BytesMut::with_capacity(length);
            for piece in &pieces {
                one.extend_from_slice(piece);
            }
            Content::Whole(one.freeze())
        } else {
            Content::pieces(pieces.into_iter().map(BodyPiece::from).collect())
        };
        Some((content, length as u64))
    }
}
