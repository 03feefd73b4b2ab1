//! The shared state of a fill.

use super::{Broken, Interested, followers::Followers};
use crate::{BodyPiece, Reservation};
use bytes::Bytes;
use std::{collections::VecDeque, task::Waker, time::Duration};

/// From this many pieces on, small ones are joined.
const MANY: usize = 64;
/// Joining makes pieces of at most this many bytes.
const JOINED: usize = 4096;

/// The window in place of [`WINDOW`](super::WINDOW) while memory is short.
const SHORT: u64 = 4 << 10;

/// What part of the window is taken ahead for a backed fill: a chunk that is being written, one that waits for that, and
/// pieces that come meanwhile.
const AHEAD: u64 = 4;

/// How long other readers wait in all for one reader of a fill that is not kept, before it is cut off.
const MOST_WAITED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct FillState {
    /// The announced length of the body, once the head has arrived and if it says.
    pub length: Option<u64>,
    /// Whether the source also sends parts of the body without the rest.
    pub has_ranges: bool,
    /// The pieces in memory, each with its offset. They follow one another, and the last ends at `received`.
    pub pieces: VecDeque<(u64, Bytes)>,
    /// Bytes pushed so far.
    pub received: u64,
    pub keeping: Keeping,
    /// What the pieces take of the budget, as long as a reader may want them, and at least `ahead`.
    pub reservation: Reservation,
    /// What a backed fill takes of the budget at least: as much as waits for the device where memory is short.
    ahead: u64,
    /// [`WINDOW`](super::WINDOW); another size in tests.
    window: u64,
    pub end: Option<End>,
    pub deserted: Deserted,
    /// Whether it was given up, whoever is interested ([`Writer::give_up`](super::Writer::give_up)).
    pub given_up: bool,
    /// How many wait for the answer or read it.
    pub interested: usize,
    pub readers: Followers,
    /// The writer, if it waits for the slowest reader or for the last interest to go.
    pub writer: Option<Waker>,
}

/// Where the first bytes are.
#[derive(Clone, Debug)]
pub(super) enum Keeping {
    /// In memory, all of them.
    Memory,
    /// The first bytes here, and what follows in memory.
    Backed(BodyPiece),
    /// As when backed, but only for the present readers. Becomes `Nowhere` as soon as none of them needs what is not in
    /// memory.
    Left(BodyPiece),
    /// Gone, once every reader has passed them.
    Nowhere,
}

/// What happens to a fill when nobody is interested in it any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deserted {
    /// It is abandoned.
    Ends,
    /// It goes on to its end ([`Interest::keep`](super::Interest::keep)).
    GoesOn,
    /// It is abandoned, even if somebody asked to keep it: it is spilled, or only [serves
    /// readers](super::Writer::serve_readers).
    AlwaysEnds,
}

/// How a fill ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    Failed(Broken),
}

impl FillState {
    /// Creates the state of a fill without bytes and readers. `window` is in bytes.
    pub fn new(reservation: Reservation, window: u64) -> Self {
        Self {
            length: None,
            has_ranges: false,
            pieces: VecDeque::new(),
            received: 0,
            keeping: Keeping::Memory,
            reservation,
            ahead: 0,
            window,
            end: None,
            deserted: Deserted::Ends,
            given_up: false,
            interested: 0,
            readers: Followers::default(),
            writer: None,
        }
    }

    /// Whether no more of it than necessary should be in memory.
    pub fn is_short(&self) -> bool {
        self.reservation.budget().is_short()
    }

    /// How far the writer may run ahead of the slowest reader of a fill that is not kept, and how much of a backed fill
    /// stays in memory for readers.
    pub fn window(&self) -> u64 {
        if self.is_short() {
            self.window.min(SHORT)
        } else {
            self.window
        }
    }

    /// Adds a reader at the first byte.
    pub fn join(&mut self) -> u64 {
        self.interested += 1;
        self.readers.join()
    }

    /// Whether a reader may still join and get all of it.
    pub fn is_open(&self) -> bool {
        !self.is_spilled() && !matches!(self.end, Some(End::Failed(_)))
    }

    /// Whether it is no longer kept, and so will not be stored.
    pub fn is_spilled(&self) -> bool {
        matches!(self.keeping, Keeping::Left(_) | Keeping::Nowhere)
    }

    /// Who is interested in what is still to come.
    pub fn interested(&self) -> Interested {
        if self.given_up {
            return Interested::Nobody;
        }
        if self.interested > 0 || self.length.is_some_and(|length| self.received >= length) {
            return Interested::Somebody;
        }
        match (self.deserted, self.length) {
            (Deserted::GoesOn, Some(_)) => Interested::Somebody,
            (Deserted::GoesOn, None) => Interested::Later,
            (Deserted::Ends | Deserted::AlwaysEnds, _) => Interested::Nobody,
        }
    }

    /// See [`Interest::keep`](super::Interest::keep).
    pub fn keep(&mut self) {
        if self.deserted == Deserted::Ends {
            self.deserted = Deserted::GoesOn;
        }
    }

    /// See [`Writer::let_go`](super::Writer::let_go).
    pub fn let_go(&mut self) {
        if self.deserted == Deserted::GoesOn {
            self.deserted = Deserted::Ends;
        }
    }

    /// Notes that `reader` has taken `bytes` more. Returns the writer if it may wait for that.
    ///
    /// # Errors
    /// The reader is cut off.
    pub fn pass(&mut self, reader: u64, bytes: u64) -> Result<Option<Waker>, Broken> {
        if !self.readers.pass(reader, bytes) {
            return Err(Broken::Late);
        }
        self.trim();
        let may_wait = self.is_spilled();
        Ok(may_wait.then(|| self.writer.take()).flatten())
    }

    /// Bytes that the slowest reader has taken.
    pub fn slowest(&self) -> u64 {
        self.readers.slowest().unwrap_or(self.received)
    }

    /// The offset of the first byte in memory.
    pub fn first(&self) -> u64 {
        self.pieces
            .front()
            .map_or(self.received, |(first, _)| *first)
    }

    /// Bytes in memory.
    pub fn held(&self) -> u64 {
        self.received - self.first()
    }

    /// The bytes in memory from `at` to the end of a piece.
    pub fn piece(&self, at: u64) -> Option<Bytes> {
        let next = self.pieces.partition_point(|(first, _)| *first <= at);
        let (first, piece) = self.pieces.get(next.checked_sub(1)?)?;
        let skip = usize::try_from(at - first).ok()?;
        (skip < piece.len()).then(|| piece.slice(skip..))
    }

    /// Takes room in the budget for `bytes` that have come. False if there is none; it is taken all the same, because
    /// they are here until the readers have them.
    pub fn take_room(&mut self, bytes: u64) -> bool {
        let all = self.held().saturating_add(bytes);
        let more = all.saturating_sub(self.reservation.bytes());
        let fits = self.reservation.grow(more);
        if !fits {
            self.reservation.take(more);
        }
        fits
    }

    /// Takes room in the budget for what will wait for the device. False if memory is too short for that.
    pub fn take_room_ahead(&mut self) -> bool {
        let ahead = self.window / AHEAD;
        let more = ahead.saturating_sub(self.reservation.bytes());
        let fits = self.reservation.grow_sparing(more);
        if fits {
            self.ahead = ahead;
        }
        fits
    }

    /// Notes that nothing more will wait for the device.
    pub fn give_room_back(&mut self) {
        self.ahead = 0;
        self.reservation.shrink_to(self.held());
    }

    /// Appends a piece. If there are many, small ones are joined, each with one about as large. Then they take hardly
    /// more memory than their bytes, and each byte is copied a few times at most.
    pub fn append(&mut self, piece: Bytes) {
        let mut first = self.received;
        let mut piece = piece;
        self.received += piece.len() as u64;
        while self.pieces.len() >= MANY
            && let Some((before, last)) = self.pieces.back()
            && last.len() <= piece.len()
            && last.len() + piece.len() <= JOINED
        {
            first = *before;
            piece = [&last[..], &piece[..]].concat().into();
            self.pieces.pop_back();
        }
        self.pieces.push_back((first, piece));
    }

    /// Whether some reader needs what is not in memory.
    fn has_behind(&self) -> bool {
        self.slowest() < self.first()
    }

    /// Drops the pieces that need not be in memory any longer.
    pub fn trim(&mut self) {
        if matches!(self.keeping, Keeping::Left(_)) && !self.has_behind() {
            self.keeping = Keeping::Nowhere;
        }
        let (written, window) = match &self.keeping {
            Keeping::Memory | Keeping::Left(_) => return,
            Keeping::Backed(written) => (written.len(), self.window()),
            Keeping::Nowhere => (u64::MAX, u64::MAX),
        };
        let slowest = self.slowest();
        while let Some((first, piece)) = self.pieces.front() {
            let end = first + piece.len() as u64;
            if end > written || (end > slowest && self.held() <= window) {
                break;
            }
            self.pieces.pop_front();
        }
        self.reservation.shrink_to(self.held().max(self.ahead));
    }

    /// Stops keeping the body: the fill goes on only for its present readers.
    pub fn spill(&mut self) {
        self.keeping = match std::mem::replace(&mut self.keeping, Keeping::Nowhere) {
            Keeping::Backed(written) | Keeping::Left(written) => Keeping::Left(written),
            Keeping::Memory | Keeping::Nowhere => Keeping::Nowhere,
        };
        self.deserted = Deserted::AlwaysEnds;
        self.give_room_back();
        self.readers.wake();
        self.trim();
    }

    /// How many bytes a reader of a spilled fill must have taken so that the writer does not wait for it.
    fn nearest(&self) -> Option<u64> {
        match self.keeping {
            Keeping::Memory | Keeping::Backed(_) => None,
            Keeping::Left(_) => Some(self.first()),
            Keeping::Nowhere => Some(self.received.saturating_sub(self.window())),
        }
    }

    /// Cuts off readers that are too far behind for the writer of a spilled fill to go on, if other readers wait for
    /// more. Readers that keep nobody waiting are left to their connections to judge.
    pub fn cut_off_slow(&mut self) {
        let Some(nearest) = self.nearest() else {
            return;
        };
        if self.readers.fastest().is_none_or(|at| at < nearest) {
            return;
        }
        self.readers.cut_off_before(nearest);
        self.readers.wake();
        self.trim();
    }

    /// Fails the fill, whoever reads it.
    pub fn give_up(&mut self) {
        self.given_up = true;
        self.end.get_or_insert(End::Failed(Broken::Left));
        self.readers.cut_off_before(u64::MAX);
        self.readers.wake();
        self.trim();
    }

    /// Notes that the writer begins to wait for readers, if it has to.
    pub fn begin_wait(&mut self) {
        self.readers.await_before(self.nearest().unwrap_or(0));
    }

    /// Notes that it has waited for `time`; see [`Followers::waited`].
    pub fn waited(&mut self, time: Duration) {
        self.readers.waited(time, self.received, MOST_WAITED);
        self.readers.wake();
        self.trim();
    }
}
