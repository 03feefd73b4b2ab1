//! What memory holds of a fill: its last bytes, in pieces.

use bytes::Bytes;
use std::collections::VecDeque;

/// From this many pieces on, small ones are joined.
const MANY: usize = 64;
/// Joining makes pieces of at most this many bytes.
const JOINED: usize = 4096;

/// The pieces of a fill that are in memory.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Each with its offset. They follow one another, and the last ends at `received`.
    pieces: VecDeque<(u64, Bytes)>,
    /// Bytes pushed so far.
    received: u64,
}

impl Held {
    /// A whole body in one piece.
    pub fn whole(body: Bytes) -> Self {
        Self {
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
        self.pieces
            .front()
            .map_or(self.received, |(first, _)| *first)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        self.received - self.first()
    }

    /// The bytes in memory from `at` to the end of a piece.
    pub fn piece(&self, at: u64) -> Option<Bytes> {
        let next = self.pieces.partition_point(|(first, _)| *first <= at);
        let (first, piece) = self.pieces.get(next.checked_sub(1)?)?;
        let skip = usize::try_from(at - first).ok()?;
        (skip < piece.len()).then(|| piece.slice(skip..))
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
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> {
        self.pieces.iter().map(|(_, piece)| piece)
    }

    /// Drops pieces from the front on that are `written`: those that the slowest reader has passed, and others as long
    /// as more than `window` bytes are held.
    pub fn trim(&mut self, written: u64, slowest: u64, window: u64) {
        while let Some((first, piece)) = self.pieces.front() {
            let end = first + piece.len() as u64;
            if end > written || (end > slowest && self.bytes() <= window) {
                break;
            }
            self.pieces.pop_front();
        }
    }
}
