//! A page that is composed in one go.

use super::Composer;
use crate::{
    body::Content,
    walk::esi::{segment::Segment, source::PageSource},
};
use bytes::{Bytes, BytesMut};
use std::task::{self, Waker};
use store::BodyPiece;

/// The largest page that is put together in one buffer.
const ONE_BUFFER: usize = 64 << 10;

impl Composer {
    /// All of it and its length, where everything is at hand: a stored page with stored fragments.
    pub fn at_once(&mut self) -> Option<(Content, u64)> {
        if !matches!(self.source, PageSource::Kept { .. }) {
            return None;
        }
        // Whatever is waited for is polled again by whoever sends.
        let mut task = task::Context::from_waker(Waker::noop());
        let _ = self.read(&mut task);
        self.forward(&mut task);
        let at_hand = self.ended
            && self.queue.iter().all(|segment| match segment {
                Segment::Text(_) => true,
                Segment::Include(fragment) => fragment.is_whole(),
                Segment::Try(_) => false,
            });
        if !at_hand {
            return None;
        }
        let pieces: Vec<Bytes> = self
            .queue
            .drain(..)
            .filter_map(|segment| match segment {
                Segment::Text(text) => Some(text),
                Segment::Include(mut fragment) => fragment.whole(),
                Segment::Try(_) => None,
            })
            .collect();
        let length: usize = pieces.iter().map(Bytes::len).sum();
        let content = if length <= ONE_BUFFER {
            let mut one = BytesMut::with_capacity(length);
            for piece in &pieces {
                one.extend_from_slice(piece);
            }
            Content::Whole(one.freeze())
        } else {
            Content::pieces(pieces.into_iter().map(BodyPiece::from).collect())
        };
        Some((content, length as u64))
    }
}
