//! A page that is composed in one go.

use super::Composer;
use crate::{
    body::{Content, counted},
    walk::esi::{segment::Segment, source::PageSource, texts::Text},
};
use bytes::BytesMut;
use std::task::{self, Waker};
use store::{BodyPiece, Memory};

/// The largest page that is put together in one buffer.
const ONE_BUFFER: usize = 64 << 10;

impl Composer {
    /// Returns all of the page and its length, if everything is at hand: a stored page with stored fragments.
    pub fn at_once(&mut self) -> Option<(Content, u64)> {
        if !matches!(self.source, PageSource::AtHand { .. }) {
            return None;
        }
        // The task that sends the page polls again whatever is pending.
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
            self.weigh();
            self.count();
            return None;
        }
        let mut pieces = Vec::with_capacity(self.buffered.segments);
        for segment in self.queue.drain(..) {
            match segment {
                Segment::Text(texts) => texts.move_to(&mut pieces),
                Segment::Include(mut fragment) => {
                    let whole = fragment.whole();
                    pieces.extend(whole.map(|bytes| Text {
                        bytes,
                        is_made: false,
                    }));
                }
                Segment::Try(_) => {}
            }
        }
        Some(whole(pieces, &self.context.worker().cache.memory))
    }
}

/// Returns pieces as content, with its length. Bytes that were made here count until they are sent; so does one buffer
/// of all.
fn whole(pieces: Vec<Text>, memory: &Memory) -> (Content, u64) {
    let length: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
    let content = if length <= ONE_BUFFER {
        let mut one = BytesMut::with_capacity(length);
        for piece in &pieces {
            one.extend_from_slice(&piece.bytes);
        }
        Content::Whole(counted(one.freeze(), memory))
    } else {
        let counted = pieces.into_iter().map(|Text { bytes, is_made }| {
            let bytes = if is_made {
                counted(bytes, memory)
            } else {
                bytes
            };
            BodyPiece::from(bytes)
        });
        Content::pieces(counted.collect())
    };
    (content, length as u64)
}
