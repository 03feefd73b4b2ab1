//! A fill that is followed while it is written, as content.

use super::Error;
use bytes::Bytes;
use std::task::{Context, Poll, ready};
use store::fill::Reader;

/// A reader of a fill, and the number of bytes still to come, if that is known.
#[derive(Debug)]
pub struct Following {
    reader: Reader,
    left: Option<u64>,
}

impl Following {
    /// `left` bytes from the position of `reader`.
    pub(super) const fn new(reader: Reader, left: Option<u64>) -> Self {
        Self { reader, left }
    }

    /// The number of bytes still to come, if that is known.
    pub(super) const fn left(&self) -> Option<u64> {
        self.left
    }

    /// Whether the fill is not kept any more.
    pub(super) fn is_spilled(&self) -> bool {
        self.reader.is_spilled()
    }

    /// See [`Reader::may_hold_up`].
    pub(super) fn may_hold_up(&self, context: &Context<'_>) -> bool {
        self.left != Some(0) && self.reader.may_hold_up(context)
    }

    /// Makes the fill continue to its end, whatever readers leave.
    pub(super) fn keep(&self) {
        self.reader.keep();
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        // If the length is known, there is no need to wait for the end of the fill.
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        let Some(piece) = ready!(self.reader.poll_next(context)) else {
            return Poll::Ready(None);
        };
        let mut piece = piece?;
        if let Some(left) = &mut self.left {
            piece.truncate((*left).min(piece.len() as u64) as usize);
            *left -= piece.len() as u64;
        }
        Poll::Ready(Some(Ok(piece)))
    }
}
