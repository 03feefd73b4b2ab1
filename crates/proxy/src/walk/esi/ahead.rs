//! What is read beyond what is sent while a fragment is waited for. A page or fragment that is not stored holds its
//! turn at the origin until it has been read, and the fragment that is waited for may need that turn.

use super::fragment::Piece;
use crate::{body::Error, cache::Worker};
use std::{collections::VecDeque, fmt};
use store::{Memory, Reservation};

/// Room is taken from the budget in steps of this many bytes.
const STEP: u64 = 64 << 10;

/// Whether there is room for another piece besides `held` bytes, and for other requests too. What is held counts as in
/// flight.
pub fn has_room(room: &mut Reservation, memory: &Memory, held: u64) -> bool {
    if held < room.bytes() {
        return true;
    }
    let has_room = room.grow_sparing(held - room.bytes() + STEP);
    memory.make_room();
    has_room
}

/// Content of a fragment that has been read but not sent.
pub struct Ahead {
    pieces: VecDeque<Piece>,
    bytes: u64,
    /// How it ended.
    end: Option<Result<(), Error>>,
    room: Reservation,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ahead").field(&self.bytes).finish()
    }
}

impl Ahead {
    /// Nothing so far. What is added counts against the budget of `worker`'s store.
    pub fn new(worker: &Worker) -> Self {
        Self {
            pieces: VecDeque::new(),
            bytes: 0,
            end: None,
            room: worker.cache.memory.budget().reservation(),
        }
    }

    /// Whether there is more to read, and room for it.
    pub fn wants_more(&mut self, memory: &Memory) -> bool {
        self.end.is_none() && has_room(&mut self.room, memory, self.bytes)
    }

    /// Returns the bytes that were read but not sent.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of it was read, whether it is whole or broken.
    pub const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Adds what was read; `None` at the end.
    pub fn add(&mut self, read: Option<Result<Piece, Error>>) {
        match read {
            Some(Ok(piece)) => {
                self.bytes += piece.bytes.len() as u64;
                self.pieces.push_back(piece);
            }
            Some(Err(error)) => self.end = Some(Err(error)),
            None => self.end = Some(Ok(())),
        }
    }

    /// Takes the next piece, or the end (`Some(None)`). `None` if what follows has not been read.
    #[expect(clippy::option_option, reason = "as a body's frame is given")]
    pub fn take(&mut self) -> Option<Option<Result<Piece, Error>>> {
        if let Some(piece) = self.pieces.pop_front() {
            self.bytes -= piece.bytes.len() as u64;
            self.room.shrink_to(self.bytes);
            return Some(Some(Ok(piece)));
        }
        let end = self.end.as_mut()?;
        Some(std::mem::replace(end, Ok(())).err().map(Err))
    }
}
