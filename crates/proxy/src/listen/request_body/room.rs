//! What a request's content takes of the budget on its way: as much as may be held of it at once, from its beginning
//! until the origin has the last of it. So no client and no origin can make us hold more by stopping.

use crate::listen::config::READ;
use bytes::Bytes;
use std::sync::Arc;
use store::{Memory, Reservation};

/// Content up to this length, in bytes, may take the last of the budget. Longer content leaves a quarter to others.
const SHORT: u64 = 16 * 1024;

/// What one request's content holds of the budget, shared by the pieces that were handed on.
#[derive(Clone, Debug)]
pub(super) struct Room {
    _held: Arc<Reservation>,
}

impl Room {
    /// Takes room for content of `length`, if that is known, of which at most `most` bytes are held at once.
    pub(super) fn take(memory: &Memory, length: Option<u64>, most: u64) -> Option<Self> {
        // A piece may keep a buffer of twice its size.
        let bytes = length.map_or(most, |length| length.saturating_mul(2).min(most));
        let mut held = memory.budget().reservation();
        let is_short = length.is_some_and(|length| length <= SHORT);
        let fits = if is_short {
            held.grow(bytes)
        } else {
            held.grow_sparing(bytes)
        };
        memory.make_room();
        fits.then(|| Self {
            _held: Arc::new(held),
        })
    }

    /// Attaches the room to a piece, which is copied if it may be a small part of a buffer.
    fn count(&self, piece: Bytes) -> Bytes {
        let piece = if piece.len() < READ / 2 {
            Bytes::copy_from_slice(&piece)
        } else {
            piece
        };
        counted(piece, Some(self.clone()))
    }
}

/// Returns the piece as it is handed on.
pub(super) fn of(room: Option<&Room>, piece: Bytes) -> Bytes {
    match room {
        Some(room) if !piece.is_empty() => room.count(piece),
        _ => piece,
    }
}

/// Returns the piece with what it holds until it is sent.
pub(in crate::listen) fn counted<R: Send + Sync + 'static>(piece: Bytes, room: Option<R>) -> Bytes {
    match room {
        Some(room) => Bytes::from_owner(Counted { piece, _room: room }),
        None => piece,
    }
}

/// See [`counted`].
struct Counted<R> {
    piece: Bytes,
    _room: R,
}

impl<R> AsRef<[u8]> for Counted<R> {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}
