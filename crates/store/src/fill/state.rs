//! The shared state of a fill: what is kept of it, and what that takes of the budget. [`waiting`] is about readers
//! that are slow.

mod waiting;

use super::{Broken, followers::Followers, held::Held, interest::Deserted};
use crate::{BodyPiece, Reservation};
use std::task::Waker;

/// The window in place of [`WINDOW`](super::WINDOW) while memory is short.
const SHORT: u64 = 4 << 10;

/// What part of the window is taken ahead for a backed fill: a chunk that is being written, one that waits for that, and
/// pieces that come meanwhile.
const AHEAD: u64 = 4;

#[derive(Debug)]
pub(super) struct FillState {
    /// The announced length of the body, once the head has arrived and if it says.
    pub length: Option<u64>,
    /// Whether the source also sends parts of the body without the rest.
    pub has_ranges: bool,
    /// What is in memory.
    pub held: Held,
    pub keeping: Keeping,
    /// What `held` takes of the budget outside the arena, as long as a reader may want it, and at least `ahead`.
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
            held: Held::default(),
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

    /// Bytes that the slowest reader has taken.
    pub fn slowest(&self) -> u64 {
        self.readers.slowest().unwrap_or(self.held.received())
    }

    /// Takes room in the budget for `bytes` that have come. False if there is none; it is taken all the same, because
    /// they are here until the readers have them.
    pub fn take_room(&mut self, bytes: u64) -> bool {
        let all = self.held.outside().saturating_add(bytes);
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
        let lacking = ahead.saturating_sub(self.reservation.bytes());
        // What lies in the arena is the first that waits for the device, and has its room.
        let there = lacking.min(self.held.room());
        let fits = self.reservation.grow_sparing(lacking - there);
        if fits {
            self.held.pass_room(there, &mut self.reservation);
            self.ahead = ahead;
        }
        fits
    }

    /// Notes that nothing more will wait for the device.
    pub fn give_room_back(&mut self) {
        self.ahead = 0;
        self.reservation.shrink_to(self.held.outside());
    }

    /// Whether some reader needs what is not in memory.
    fn has_behind(&self) -> bool {
        self.slowest() < self.held.first()
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
        self.held.trim(written, self.slowest(), window);
        self.reservation
            .shrink_to(self.held.outside().max(self.ahead));
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
}
