//! A page that is composed in one go.

use super::Composer;
use crate::{
    body::{Content, counted},
    walk::esi::{segment::Segment, source::PageSource},
};
use bytes::{Bytes, BytesMut};
use std::task::{self, Waker};
use store::{BodyPiece, Memory};

/// The largest page that is put together in one buffer.
const ONE_BUFFER: usize = 64 << 10;

impl Composer {
    /// All of it and its length, where everything is at hand: a stored page with stored fragments.
    pub fn at_once(&mut self) -> Option<(Content, u64)> {
        if !matches!(self.source, PageSource::AtHand { .. }) {
            return None;
        }
        // Whatever is waited for is polled again by whoever sends.
        let mut task = task::Context::from_waker(Waker::noop());
        let _ = self.read(&mut task);
        self.forward(&mut task);
        let at_hand = self.ended
            && self.queue.iter().all(|segment| match segment {
                Segment::Text(_) | Segment::Value(_) => true,
                Segment::Include(fragment) => fragment.is_whole(),
                Segment::Try(_) => false,
            });
        if !at_hand {
            self.count();
            return None;
        }
        let pieces = self.queue.drain(..).filter_map(|segment| match segment {
            Segment::Text(text) => Some((text, false)),
            Segment::Value(value) => Some((value, true)),
            Segment::Include(mut fragment) => Some((fragment.whole()?, false)),
            Segment::Try(_) => None,
        });
        Some(whole(pieces.collect(), &self.context.worker().cache.memory))
    }
}

/// Pieces as content, with its length. What was made here, as each says, counts until it is sent; so does one buffer of all.
fn whole(pieces: Vec<(Bytes, bool)>, memory: &Memory) -> (Content, u64) {
    let length: usize = pieces.iter().map(|(piece, _)| piece.len()).sum();
    let content = if length <= ONE_BUFFER {
        let mut one = BytesMut::with_capacity(length);
        for (piece, _) in &pieces {
            one.extend_from_slice(piece);
        }
        Content::Whole(counted(one.freeze(), memory))
    } else {
        let counted = pieces.into_iter().map(|(piece, is_made)| {
            let piece = if is_made {
                counted(piece, memory)
            } else {
                piece
            };
            BodyPiece::from(piece)
        });
        Content::pieces(counted.collect())
    };
    (content, length as u64)
}
