//! The body of a composed page: it is read ahead, its includes are fetched side by side, and all is sent in order.

mod at_once;
mod look;
mod segments;

use super::{
    context::Context,
    fragment::{Fate, Piece},
    segment::{Buffered, Segment, Segments, Try},
    source::PageSource,
};
use crate::body::Error;
use bytes::Bytes;
use esi::Run;
use std::{
    fmt,
    rc::Rc,
    task::{self, Poll, ready},
};
use store::Reservation;
use tokio::task::coop::poll_proceed;

/// Segments at hand that are sent between two [looks](Composer::look): each goes through all that is read ahead.
const AT_A_TIME: usize = 64;

/// The body of a composed page.
pub struct Composer {
    context: Rc<Context>,
    source: PageSource,
    run: Run,
    queue: Segments,
    /// Attempts that are being read, each inside the one before.
    open: Vec<Try>,
    buffered: Buffered,
    /// What the includes that are held [take](super::fragment::Fragment::weight), as of the last look, and those read
    /// since; and how much of that the [walks](super::fragment::Fragment::walk) of those under way take.
    includes: u64,
    walks: u64,
    /// How many of [`AT_A_TIME`] are left.
    left_at_a_time: usize,
    /// See [`Content::gave_counted`](crate::body::Content).
    gave_counted: bool,
    /// What the fragments were told, and what lay unread, at the last look.
    reads_little: bool,
    unread: u64,
    /// Counts what lies here alone, or is read beyond what is always read ahead while a fragment is waited for.
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

/// An attempt holds more than may be kept of one.
#[derive(Debug, thiserror::Error)]
#[error("an attempt is too large")]
struct TooLarge;

impl Composer {
    /// Returns the body of the page from `source`, composed for `context`. Nothing is read or asked for yet.
    pub fn new(context: Rc<Context>, source: PageSource) -> Self {
        Self {
            room: context.worker().cache.memory.budget().reservation(),
            context,
            source,
            run: Run::new(),
            queue: Segments::new(),
            open: Vec::new(),
            buffered: Buffered::default(),
            includes: 0,
            walks: 0,
            left_at_a_time: 0,
            gave_counted: false,
            reads_little: false,
            unread: 0,
            ended: false,
        }
    }

    /// Whether it follows a fill.
    pub fn follows(&self) -> bool {
        self.source.follows()
    }

    /// See [`Content::gave_counted`](crate::body::Content).
    pub const fn gave_counted(&self) -> bool {
        self.gave_counted
    }

    /// Polls for the next bytes; `None` at the end. Must not be polled again after an error.
    pub fn poll(&mut self, task: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            if let Some(next) = self.next_at_hand() {
                return Poll::Ready(Some(Ok(next)));
            }
            // However much is at hand, other tasks of the worker have their turn.
            ready!(poll_proceed(task)).made_progress();
            let read = self.look(task);
            if let Poll::Ready(Err(error)) = read {
                return Poll::Ready(Some(Err(error)));
            }
            match self.queue.front_mut() {
                Some(Segment::Text(_)) => {
                    if let Some(text) = self.take_text() {
                        return Poll::Ready(Some(Ok(text)));
                    }
                }
                Some(Segment::Include(fragment)) => match fragment.poll_next(task) {
                    Poll::Ready(Some(read)) => return Poll::Ready(Some(self.give(read))),
                    Poll::Ready(None) => self.pop(),
                    Poll::Pending => return self.read_on(task).map(|error| Some(Err(error))),
                },
                Some(Segment::Try(both)) => match both.fate() {
                    Fate::Open => return self.read_on(task).map(|error| Some(Err(error))),
                    fate => self.settle(fate),
                },
                None if self.ended => return Poll::Ready(None),
                None => match read {
                    Poll::Pending => {
                        self.left_at_a_time = 0;
                        return Poll::Pending;
                    }
                    // There is no room and nothing to send: an attempt has used all of it.
                    Poll::Ready(_) => return Poll::Ready(Some(Err(Box::new(TooLarge)))),
                },
            }
        }
    }

    /// Takes out what comes next, if it is at hand: at most [`AT_A_TIME`] segments between two looks.
    fn next_at_hand(&mut self) -> Option<Bytes> {
        while self.left_at_a_time > 0 {
            self.left_at_a_time -= 1;
            let next = match self.queue.front_mut()? {
                Segment::Text(_) => self.take_text(),
                Segment::Include(fragment) => {
                    let rest = fragment.rest_at_hand()?;
                    self.pop();
                    self.gave_counted = true;
                    Some(rest).filter(|rest| !rest.is_empty())
                }
                Segment::Try(_) => return None,
            };
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Removes the segment that was sent.
    fn pop(&mut self) {
        if let Some(sent) = self.queue.pop_front() {
            self.buffered = self.buffered.without(Buffered::one(&sent));
        }
    }

    /// Takes out the text that comes next, as much as is sent in one piece.
    fn take_text(&mut self) -> Option<Bytes> {
        let Some(Segment::Text(texts)) = self.queue.front_mut() else {
            return None;
        };
        let taken = texts.take();
        if texts.is_empty() {
            self.queue.pop_front();
        }
        let (text, taken) = taken?;
        self.buffered = self.buffered.without(taken);
        self.count();
        self.gave_counted = !text.is_made && self.source.gives_counted();
        Some(text.bytes)
    }

    fn give(&mut self, read: Result<Piece, Error>) -> Result<Bytes, Error> {
        let Piece { bytes, is_counted } = read?;
        self.gave_counted = is_counted;
        Ok(bytes)
    }

    /// Reads the next token of the page.
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
}
