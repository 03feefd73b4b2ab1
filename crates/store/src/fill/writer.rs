//! The writer of a fill: what it says of the body, and what becomes of the pieces. [`placing`] tells where they lie in
//! memory, [`waiting`] when the writer may go on, and [`ending`] how it ends.

mod ending;
mod placing;
mod waiting;

use super::{Backing, Broken, Deserted, End, Fill, FillState, Keeping, Overflow};
use crate::BodyPiece;
use placing::Place;
use std::sync::Arc;

/// Writes a fill. If it is dropped without [`finish`](Self::finish), the fill has failed.
#[derive(Debug)]
pub struct Writer {
    fill: Arc<Fill>,
    place: Place,
    overflow: Option<Arc<dyn Overflow>>,
    backing: Option<Box<dyn Backing>>,
    /// Bytes handed over to the backing.
    handed: u64,
    /// The whole body, as the backing has written it.
    whole: Option<BodyPiece>,
    ended: bool,
}

/// What became of a pushed piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Kept for the store, in memory or on disk.
    Kept,
    /// Not kept: the fill is spilled, and the piece goes to the present readers.
    Spilled,
    /// The same, only because memory had no room at this moment for what would have waited for the device.
    Short,
}

impl Writer {
    pub(super) fn new(fill: Arc<Fill>) -> Self {
        Self {
            fill,
            place: Place::Open,
            overflow: None,
            backing: None,
            handed: 0,
            whole: None,
            ended: false,
        }
    }

    /// The fill that it writes.
    pub fn fill(&self) -> &Arc<Fill> {
        &self.fill
    }

    /// Notes the length that the head announces, if any.
    pub fn announce(&mut self, length: Option<u64>) {
        self.fill.lock().length = length;
    }

    /// Notes that the source also sends parts of the body without the rest.
    pub fn announce_ranges(&mut self) {
        self.fill.lock().has_ranges = true;
    }

    /// Notes that the body only serves readers, because something else is to be stored. The fill does not go on when
    /// all readers have left.
    pub fn serve_readers(&mut self) {
        self.fill.lock().deserted = Deserted::AlwaysEnds;
    }

    /// Takes it back that the fill is to [go on](super::Interest::keep) although nobody reads it: it is abandoned when
    /// nobody is interested, unless somebody keeps it again.
    pub fn let_go(&self) {
        self.fill.lock().let_go();
    }

    /// Sets where the body goes if it outgrows memory.
    pub fn overflow_to(&mut self, overflow: Arc<dyn Overflow>) {
        self.overflow = Some(overflow);
    }

    /// Appends a copy of `piece`: what arrives from a connection is often a slice of a much larger buffer. If the budget
    /// is exhausted, the fill [overflows](Self::overflow). One that is backed already is spilled, unless it helps to
    /// hold less of it.
    pub fn push(&mut self, piece: &[u8]) -> Pushed {
        if piece.is_empty() {
            return self.pushed();
        }
        let spilled = self.is_spilled();
        let fits = self.put(piece);
        match (spilled, fits) {
            (true, _) => Pushed::Spilled,
            (false, true) => Pushed::Kept,
            (false, false) if self.backing.is_some() => self.hold_little(),
            (false, false) => self.overflow(),
        }
    }

    /// Stops keeping the body in memory: it is backed from now on if possible, and spilled otherwise, also if memory has
    /// no room for what would wait for the device. May be called at any time, also before the first byte. A second call
    /// changes nothing.
    pub fn overflow(&mut self) -> Pushed {
        if !matches!(self.fill.lock().keeping, Keeping::Memory) {
            return self.pushed();
        }
        self.place = Place::Outside;
        let length = self.fill.length();
        let overflow = self.overflow.as_ref();
        let Some(backing) = overflow.and_then(|overflow| overflow.begin(length)) else {
            self.spill();
            return Pushed::Spilled;
        };
        if !self.fill.lock().take_room_ahead() {
            self.spill();
            return Pushed::Short;
        }
        self.backing = Some(backing);
        self.settle();
        Pushed::Kept
    }

    /// Holds as little as a backed fill can. It is spilled if there is no room for that.
    fn hold_little(&mut self) -> Pushed {
        self.settle();
        if self.fill.lock().reservation.budget().is_exceeded() {
            self.spill();
        }
        self.pushed()
    }

    fn pushed(&self) -> Pushed {
        if self.is_spilled() {
            Pushed::Spilled
        } else {
            Pushed::Kept
        }
    }

    /// Stops keeping the body: it will not be stored. Present readers go on, also with what is only on disk. Nobody
    /// else may join.
    pub fn spill(&mut self) {
        if self.is_spilled() {
            return;
        }
        // Takes account of what the device has written since.
        self.settle();
        self.backing = None;
        self.place = Place::Outside;
        self.fill.lock().spill();
    }

    /// Whether it is spilled. A backed fill may become spilled whenever [`poll_room`](Self::poll_room) is ready.
    pub fn is_spilled(&self) -> bool {
        self.fill.lock().is_spilled()
    }

    /// Whether no more than necessary should be read for it at once: it is backed or spilled, and memory is short.
    pub fn is_short(&self) -> bool {
        let state = self.fill.lock();
        !matches!(state.keeping, Keeping::Memory) && state.is_short()
    }
}
