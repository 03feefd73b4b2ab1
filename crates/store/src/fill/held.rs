//! What memory holds of a fill: its last bytes, in pieces; the first of them in the arena, if it was begun there.

use crate::{Reservation, arena::Grown};
use bytes::Bytes;
use std::{collections::VecDeque, sync::Arc};

/// From this many pieces on, small ones are joined.
const MANY: usize = 64;
/// Joining makes pieces of at most this many bytes.
const JOINED: usize = 4096;

/// A reader gets at most so many bytes of the arena at once. What it has got counts as read, so that more is fetched for
/// it.
const LENT: u64 = 128 << 10;

/// The first bytes of a body, in the arena.
#[derive(Debug)]
struct Mapped {
    grown: Arc<Grown>,
    /// How many they are.
    end: u64,
}

/// The pieces of a fill that are in memory.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The first bytes, as long as any of them may be wanted, if they lie in the arena.
    mapped: Option<Mapped>,
    /// Each with its offset. They follow one another, and the last ends at `received`.
    pieces: VecDeque<(u64, Bytes)>,
    /// Bytes pushed so far.
    received: u64,
}

impl Held {
    /// A whole body in one piece.
    pub fn whole(body: Bytes) -> Self {
        Self {
            mapped: None,
            received: body.len() as u64,
            pieces: [(0, body)].into(),
        }
    }

    /// Bytes pushed so far, whether they are still in memory or not.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The offset of the first byte in memory.
    pub fn first(&self) -> u64 {
        match (&self.mapped, self.pieces.front()) {
            (Some(_), _) => 0,
            (None, Some((first, _))) => *first,
            (None, None) => self.received,
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        self.received - self.first()
    }

    /// Bytes in memory outside the arena, where they have a reservation of their own.
    pub fn outside(&self) -> u64 {
        let mapped = self.mapped.as_ref().map_or(0, |mapped| mapped.end);
        self.bytes() - mapped
    }

    /// What the bytes in the arena hold of the budget.
    pub fn room(&self) -> u64 {
        self.mapped.as_ref().map_or(0, |mapped| mapped.grown.room())
    }

    /// Passes `bytes` of that on to another reservation.
    pub fn pass_room(&self, bytes: u64, to: &mut Reservation) {
        if let Some(mapped) = &self.mapped {
            mapped.grown.pass_room(bytes, to);
        }
    }

    /// Whether it begins in the arena.
    pub fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// The bytes in memory from `at` to the end of a piece.
    pub fn piece(&self, at: u64) -> Option<Bytes> {
        if let Some(mapped) = &self.mapped
            && at < mapped.end
        {
            let end = mapped.end.min(at + LENT);
            return Some(mapped.grown.bytes(at as usize..end as usize));
        }
        let next = self.pieces.partition_point(|(first, _)| *first <= at);
        let (first, piece) = self.pieces.get(next.checked_sub(1)?)?;
        let skip = usize::try_from(at - first).ok()?;
        (skip < piece.len()).then(|| piece.slice(skip..))
    }

    /// Appends the next `bytes`, which lie in the arena behind those before.
    pub fn append_mapped(&mut self, grown: &Arc<Grown>, bytes: u64) {
        self.received += bytes;
        let mapped = self.mapped.get_or_insert_with(|| Mapped {
            grown: grown.clone(),
            end: 0,
        });
        mapped.end = self.received;
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

    /// The pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Bytes> {
        let mapped = self.mapped.as_ref();
        let mapped = mapped.map(|mapped| mapped.grown.bytes(0..mapped.end as usize));
        let others = self.pieces.iter().map(|(_, piece)| piece.clone());
        mapped.into_iter().chain(others)
    }

    /// Drops pieces from the front on that are `written`: those that the slowest reader has passed, and others as long
    /// as more than `window` bytes are held. What lies in the arena is one piece.
    pub fn trim(&mut self, written: u64, slowest: u64, window: u64) {
        let stays = |end, bytes| end > written || (end > slowest && bytes <= window);
        if let Some(mapped) = &self.mapped {
            if stays(mapped.end, self.bytes()) {
                return;
            }
            self.mapped = None;
        }
        while let Some((first, piece)) = self.pieces.front() {
            if stays(first + piece.len() as u64, self.bytes()) {
                break;
            }
            self.pieces.pop_front();
        }
    }
}
