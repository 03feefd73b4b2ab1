//! What is read ahead of what is sent: how much, and what becomes of its includes meanwhile.

use super::{AT_A_TIME, Composer};
use crate::{
    body::{Content, Error},
    walk::esi::{
        ahead,
        fragment::Fragment,
        segment::{self, Buffered, FetchPriority, Segment, forward, read_ahead},
    },
};
use std::task::{self, Poll, ready};

/// The most includes of one page that hold or await a connection at the same time.
const SIDE_BY_SIDE: usize = 8;

/// The same, while memory is short.
const FEW_SIDE_BY_SIDE: usize = 1;

/// What is read ahead of what is sent: more segments than a page has with as many includes as it may have. What includes
/// take, their addresses above all, is bounded by as much as text is.
const AHEAD: Buffered = Buffered {
    segments: 1024,
    bytes: 256 << 10,
    made: 0,
};

/// The most bytes that may be read ahead and lie nowhere else, while memory is short.
const LITTLE_AHEAD: u64 = 8 << 10;

/// The most that an attempt may hold. It is read to its end before any of it is sent.
const LARGEST_TRY: Buffered = Buffered {
    segments: 4096,
    bytes: 1 << 20,
    made: 0,
};

/// Bytes of a page's fragments that are read before it is their turn, whatever the page waits for.
const FRAGMENTS_AHEAD: u64 = 2 << 20;

/// Beyond [`AHEAD`], one page holds at most one part in this many of what may be in flight.
const SHARE: u64 = 4;

/// Beyond [`AHEAD`], pieces of this many bytes or more count by their bytes alone.
const PIECE: u64 = 4 << 10;

impl Composer {
    /// Looks after all that is read ahead: reads on as long as there is room, asks for includes, and reads what has come
    /// of them. Ready if the page has ended or breaks off, or there is no room.
    pub(super) fn look(&mut self, task: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        self.weigh();
        let read = self.read(task);
        if !matches!(read, Poll::Ready(Err(_))) {
            self.forward(task);
            self.weigh();
            self.tell_how_to_read();
            self.read_behind(task, self.left_behind());
            self.unread = self.all_unread();
            self.left_at_a_time = AT_A_TIME;
        }
        self.count();
        read
    }

    /// Reads as long as there is room.
    pub(super) fn read(&mut self, task: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        while !self.ended && self.has_room() {
            ready!(self.step(task))?;
        }
        Poll::Ready(Ok(()))
    }

    fn has_room(&self) -> bool {
        // No part of an attempt is sent before all of it has been read.
        let most = if self.queue.is_empty() && !self.open.is_empty() {
            LARGEST_TRY
        } else {
            AHEAD
        };
        self.buffered.segments < most.segments
            && self.buffered.bytes < most.bytes
            && self.includes.saturating_sub(self.walks) < most.bytes as u64
            && (most != AHEAD || !self.is_short())
    }

    /// Whether memory is short and at least [`LITTLE_AHEAD`] is held here. What is under way does not count: a page that
    /// is not read on keeps its turn, for which that may wait.
    fn is_short(&self) -> bool {
        let memory = &self.context.worker().cache.memory;
        memory.budget().is_short() && self.held().saturating_sub(self.walks) >= LITTLE_AHEAD
    }

    /// Bytes that lie here and in no store, and what the segments take.
    fn held(&self) -> u64 {
        let Buffered {
            segments,
            bytes,
            made,
        } = self.buffered;
        let all = if self.source.passes() { bytes } else { made };
        let segments = (segments * size_of::<Segment>()) as u64;
        (all as u64).max(self.beyond()) + segments + self.includes
    }

    /// Looks again what the includes take.
    pub(super) fn weigh(&mut self) {
        let all = |bytes| {
            let open = self.open.iter();
            let open = open
                .map(|both| segment::sum(&both.attempt, bytes) + segment::sum(&both.except, bytes));
            segment::sum(&self.queue, bytes) + open.sum::<u64>()
        };
        (self.includes, self.walks) = (all(Fragment::weight), all(Fragment::walk));
    }

    /// Counts what is [held](Self::held) as in flight.
    pub(super) fn count(&mut self) {
        let (held, before) = (self.held(), self.room.bytes());
        self.room.hold(held);
        if held > before {
            self.context.worker().cache.memory.make_room();
        }
    }

    /// See [`Content::read_little_if`]; for the page and its fragments.
    pub fn read_little_if(&mut self, short: bool) {
        if self.left_at_a_time > 0 && short == self.reads_little {
            return;
        }
        self.reads_little = short;
        self.tell_how_to_read();
    }

    fn tell_how_to_read(&mut self) {
        let short = self.reads_little;
        self.source.read_little_if(short);
        segment::read_little_if(&mut self.queue, short);
        for both in &mut self.open {
            segment::read_little_if(&mut both.attempt, short);
        }
    }

    /// See [`Content::unread`]; for the page and its fragments.
    pub fn unread(&self) -> u64 {
        if self.left_at_a_time > 0 {
            self.unread
        } else {
            self.all_unread()
        }
    }

    fn all_unread(&self) -> u64 {
        let attempts = self.open.iter().map(|both| segment::unread(&both.attempt));
        let fragments = segment::unread(&self.queue) + attempts.sum::<u64>();
        self.source.content().map_or(0, Content::unread) + fragments
    }

    /// Reads on while a fragment is waited for. That fragment may itself wait for a turn that this page, or a fragment
    /// behind it, holds. Ready if the page breaks off.
    pub(super) fn read_on(&mut self, task: &mut task::Context<'_>) -> Poll<Error> {
        self.left_at_a_time = 0;
        while self.has_room_beyond(task) {
            match self.step(task) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(error),
                Poll::Pending => break,
            }
        }
        self.count();
        self.read_behind(task, u64::MAX);
        // Fragments that have come completely make way for the next.
        self.forward(task);
        self.weigh();
        self.count();
        Poll::Pending
    }

    /// Reads ahead up to `left` bytes of the fragments behind the one that is sent next, which reads more by itself. A
    /// fragment that has come completely holds no turn.
    fn read_behind(&mut self, task: &mut task::Context<'_>, mut left: u64) {
        let is_asked = matches!(self.queue.front(), Some(Segment::Include(_)));
        let behind = self.queue.iter_mut().skip(usize::from(is_asked));
        let attempts = self.open.iter_mut().flat_map(|both| &mut both.attempt);
        read_ahead(behind.chain(attempts), &self.context, task, &mut left);
    }

    /// Returns how many bytes of fragments may be read ahead in any case.
    fn left_behind(&self) -> u64 {
        let attempts = self.open.iter().map(|both| segment::ahead(&both.attempt));
        let held = segment::ahead(&self.queue) + attempts.sum::<u64>();
        FRAGMENTS_AHEAD.saturating_sub(held)
    }

    /// Whether to read beyond [`AHEAD`]. A page may have no end, and other requests need memory too.
    fn has_room_beyond(&mut self, task: &task::Context<'_>) -> bool {
        let (beyond, held) = (self.beyond(), self.held());
        let memory = &self.context.worker().cache.memory;
        // Each segment has a cost of its own. If pieces are larger, there may be more of them.
        let most = AHEAD.segments as u64 + beyond / PIECE;
        !self.ended
            && (self.buffered.segments as u64) < most
            && beyond < memory.budget().limit() / SHARE
            && self.source.holds_turn(task)
            && ahead::has_room(&mut self.room, memory, held)
    }

    /// Bytes held beyond what any page may hold.
    const fn beyond(&self) -> u64 {
        self.buffered.bytes.saturating_sub(AHEAD.bytes) as u64
    }

    pub(super) fn forward(&mut self, task: &mut task::Context<'_>) {
        let budget = self.context.worker().cache.memory.budget();
        let mut most = if budget.is_short() {
            FEW_SIDE_BY_SIDE
        } else {
            SIDE_BY_SIDE
        };
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
}
