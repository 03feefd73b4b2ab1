//! Where the writer puts a piece: into the arena, if the whole body will belong there, or into an allocation of its own.

use super::Writer;
use crate::{
    arena::Growing,
    fill::{FillState, Keeping},
};
use bytes::Bytes;

/// The writer's hold on the arena.
#[derive(Debug)]
pub(super) enum Place {
    /// The first piece has not come.
    Open,
    /// All pieces are there so far.
    Arena(Growing),
    /// What comes next lies outside the arena.
    Outside,
}

impl Writer {
    /// Appends a copy of `piece`. Returns whether the budget had room for it.
    pub(super) fn put(&mut self, piece: &[u8]) -> bool {
        if matches!(self.place, Place::Open) {
            let growing = begin(&self.fill.lock());
            self.place = growing.map_or(Place::Outside, Place::Arena);
        }
        // Copied without the lock, so that readers need not wait.
        if let Place::Arena(growing) = &mut self.place {
            if let Some(fits) = growing.append(piece) {
                let mut state = self.fill.lock();
                let length = piece.len() as u64;
                state.held.append_mapped(growing.grown(), length);
                state.readers.wake();
                return fits;
            }
            self.place = Place::Outside;
        }
        let copy = Bytes::copy_from_slice(piece);
        let mut state = self.fill.lock();
        let fits = state.take_room(piece.len() as u64);
        state.held.append(copy);
        state.readers.wake();
        fits
    }
}

/// Begins the body in the arena, if its length is known and its first byte has not come.
fn begin(state: &FillState) -> Option<Growing> {
    let is_new = matches!(state.keeping, Keeping::Memory) && state.held.received() == 0;
    let length = usize::try_from(state.length.filter(|_| is_new)?).ok()?;
    Growing::begin(length, state.reservation.another())
}
