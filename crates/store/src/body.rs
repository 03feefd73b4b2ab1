//! The body of a stored response.

mod block;
mod parts;
mod piece;
mod reader;

pub(crate) use block::Block;
pub use parts::Parts;
pub use piece::{BodyPiece, Part};
pub use reader::Pieces;

use crate::{
    arena::{self, Extent},
    disk::OnDisk,
    fill::Fill,
};
use bytes::Bytes;
use rules::range::Span;
use std::sync::Arc;

/// Bytes of memory that an open file on disk takes: its handle here, and what the operating system keeps for it.
const HANDLE: u64 = 256;

/// A body: whole, in parts, or still on its way in.
#[derive(Clone, Debug)]
pub enum Body {
    /// In one piece. For small and middle bodies; a hit writes it at once.
    Whole(Bytes),
    /// In one piece, in memory that the kernel sends [without copying](arena). For middle bodies.
    Mapped(Arc<Extent>),
    /// In several pieces. For large bodies, whose pieces were allocated as they arrived.
    Chunks(Arc<[Bytes]>),
    /// On disk, read as it is sent.
    Disk(OnDisk),
    /// Parts of a representation, from 206 responses (RFC 9111 section 3.3). They may cover all of it, if some are in
    /// memory and some on disk.
    Parts(Arc<Parts>),
    /// Being written; readers follow it.
    Filling(Arc<Fill>),
}

impl From<BodyPiece> for Body {
    fn from(piece: BodyPiece) -> Self {
        match piece {
            BodyPiece::Memory(bytes) => Self::Whole(bytes),
            BodyPiece::Mapped(extent) => Self::Mapped(extent),
            BodyPiece::Disk(bytes) => Self::Disk(bytes),
        }
    }
}

impl Body {
    /// Makes a body from pieces, to be kept.
    pub fn kept(chunks: Vec<Bytes>, length: usize) -> Self {
        match arena::keep(&chunks, length) {
            Some(extent) => Self::Mapped(extent),
            None => Self::from_chunks(chunks, length),
        }
    }

    /// Makes a body from pieces, which others may hold. They are joined if that is cheap, so that a hit has one buffer
    /// to write.
    pub(crate) fn from_chunks(chunks: Vec<Bytes>, length: usize) -> Self {
        const JOIN_BELOW: usize = 1 << 20;
        match <[Bytes; 1]>::try_from(chunks) {
            Ok([only]) => Self::Whole(only),
            Err(chunks) if length < JOIN_BELOW => Self::Whole(chunks.concat().into()),
            Err(chunks) => Self::Chunks(chunks.into()),
        }
    }

    /// The fill of what is on its way in, if there is one.
    pub fn fill(&self) -> Option<&Arc<Fill>> {
        match self {
            Self::Filling(fill) => Some(fill),
            Self::Parts(parts) => parts.fill(),
            Self::Whole(_) | Self::Mapped(_) | Self::Chunks(_) | Self::Disk(_) => None,
        }
    }

    /// Length in bytes; `None` while it is not known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Mapped(extent) => Some(extent.len() as u64),
            Self::Chunks(chunks) => Some(chunks.iter().map(|chunk| chunk.len() as u64).sum()),
            Self::Disk(bytes) => Some(bytes.len()),
            Self::Parts(parts) => Some(parts.length),
            Self::Filling(fill) => fill.length(),
        }
    }

    /// How many bytes of content it holds; for parts, those that were fetched. `None` while it is on its way in.
    pub fn held(&self) -> Option<u64> {
        match self {
            Self::Parts(parts) => Some(parts.spans().iter().map(Span::length).sum()),
            Self::Filling(_) => None,
            whole => whole.length(),
        }
    }

    /// Whether any of it lies on disk.
    pub fn is_on_disk(&self) -> bool {
        match self {
            Self::Disk(_) => true,
            Self::Parts(parts) => parts.is_on_disk(),
            Self::Whole(_) | Self::Mapped(_) | Self::Chunks(_) | Self::Filling(_) => false,
        }
    }

    /// Whether any of it was in a file that was [evicted](OnDisk::is_gone) or is no longer kept open.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::Disk(bytes) => bytes.is_gone(),
            Self::Parts(parts) => parts.is_gone(),
            Self::Whole(_) | Self::Mapped(_) | Self::Chunks(_) | Self::Filling(_) => false,
        }
    }

    /// Whether every byte is held for good, as far as is known.
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Whole(_) | Self::Mapped(_) | Self::Chunks(_) => true,
            Self::Disk(bytes) => !bytes.is_broken(),
            Self::Parts(parts) => parts.is_complete(),
            Self::Filling(_) => false,
        }
    }

    /// The whole content of a small or middle body, in ordinary memory.
    pub fn whole(&self) -> Option<&Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The whole content, if memory has it in one piece.
    pub fn in_one(&self) -> Option<Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes.clone()),
            Self::Mapped(extent) => Some(extent.bytes()),
            Self::Chunks(_) | Self::Disk(_) | Self::Parts(_) | Self::Filling(_) => None,
        }
    }

    /// All that is held, in order; for parts, one after the other. `None` while it is on its way in.
    pub(crate) fn pieces(&self) -> Option<Vec<BodyPiece>> {
        match self {
            Self::Whole(bytes) => Some(vec![bytes.clone().into()]),
            Self::Mapped(extent) => Some(vec![BodyPiece::Mapped(extent.clone())]),
            Self::Chunks(chunks) => Some(chunks.iter().cloned().map(BodyPiece::from).collect()),
            Self::Disk(bytes) => Some(vec![bytes.clone().into()]),
            Self::Parts(parts) => {
                let all = parts.pieces().iter();
                Some(all.map(|(_, piece)| piece.clone()).collect())
            }
            Self::Filling(_) => None,
        }
    }

    /// Bytes of memory in allocations of its own, as the allocator rounds them. The reservation of a fill counts the
    /// fill's bytes.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Whole(bytes) => allocated(bytes.len()) + SHARED,
            Self::Mapped(extent) => extent.weight(),
            Self::Chunks(chunks) => chunks.iter().map(|chunk| allocated(chunk.len()) + 64).sum(),
            Self::Disk(_) => HANDLE,
            Self::Parts(parts) => parts.weight(),
            Self::Filling(_) => 0,
        }
    }

    /// Its place in memory, which only its clones share. `None` if it takes next to none.
    pub(crate) fn place(&self) -> Option<(*const u8, usize)> {
        match self {
            Self::Whole(bytes) => (!bytes.is_empty()).then(|| (bytes.as_ptr(), bytes.len())),
            Self::Mapped(extent) => Some((Arc::as_ptr(extent).cast(), 0)),
            Self::Chunks(chunks) => Some((Arc::as_ptr(chunks).cast(), 0)),
            Self::Parts(parts) => Some((Arc::as_ptr(parts).cast(), 0)),
            Self::Disk(_) | Self::Filling(_) => None,
        }
    }

    /// The bytes of `span`, as slices of what is held; `None` if any are missing or still on their way.
    pub fn slice(&self, span: Span) -> Option<Vec<BodyPiece>> {
        match self {
            Self::Whole(bytes) => Some(vec![piece::cut(bytes, 0, span)?.into()]),
            Self::Mapped(extent) => Some(vec![piece::cut(&extent.bytes(), 0, span)?.into()]),
            Self::Chunks(chunks) => Some(slice_chunks(chunks, span)),
            Self::Disk(bytes) => {
                let last = span.last.min(bytes.len().checked_sub(1)?);
                let span = Span { last, ..span };
                (span.first <= last).then(|| bytes.slice(span).map(|bytes| vec![bytes.into()]))?
            }
            Self::Parts(parts) => parts.slice(span),
            Self::Filling(_) => None,
        }
    }

    /// The whole content as one piece; `None` for parts and fills. Chunks of a large body are copied.
    pub fn into_piece(self) -> Option<BodyPiece> {
        match self {
            Self::Whole(bytes) => Some(bytes.into()),
            Self::Mapped(extent) => Some(BodyPiece::Mapped(extent)),
            Self::Chunks(chunks) => Some(Bytes::from(chunks.concat()).into()),
            Self::Disk(bytes) => Some(bytes.into()),
            Self::Parts(_) | Self::Filling(_) => None,
        }
    }
}

fn slice_chunks(chunks: &[Bytes], span: Span) -> Vec<BodyPiece> {
    let mut at = 0;
    let cut = |chunk: &Bytes| {
        let first = at;
        at += chunk.len() as u64;
        piece::cut(chunk, first, span).map(BodyPiece::from)
    };
    chunks.iter().filter_map(cut).collect()
}

/// Bytes that shared bytes take besides themselves: the counters and the place of `Bytes` that were cloned.
pub(crate) const SHARED: u64 = 32;

/// Bytes that an allocation of `size` bytes really takes of jemalloc.
///
/// Up to 14 KiB there are four sizes to a doubling. Several allocations of one size share as few pages as they fill.
/// They also share what the allocator keeps for such pages: 128 bytes for one of 4 KiB, which has a page for itself,
/// and 16 for each of eight of 1.5 KiB in three pages. A larger allocation has pages of its own, and one more, within
/// which its beginning is shifted for the processor's cache.
pub(crate) fn allocated(size: usize) -> u64 {
    const PAGE: u64 = 4096;
    const LARGEST_SMALL: u64 = 14 << 10;
    const OF_PAGES: u64 = 128;
    let size = size.max(16) as u64;
    if size > LARGEST_SMALL {
        return size.next_multiple_of(PAGE) + PAGE + OF_PAGES;
    }
    let step = (size.next_power_of_two() / 8).max(16);
    let size = size.next_multiple_of(step);
    // The largest unit, up to a page, that both the size and a page are multiples of.
    let unit = (1 << size.trailing_zeros()).min(PAGE);
    size + OF_PAGES * unit / PAGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Each row: a size, and what it takes with its share of what is kept for its pages.
    #[test]
    fn sizes_of_the_allocator() {
        for (size, taken) in [
            (0, 16),
            (16, 16),
            (129, 160 + 1),
            (1024, 1024 + 32),
            (1025, 1280 + 8),
            (1500, 1536 + 16),
            (4096, 4096 + 128),
            (8340, 10_240 + 64),
            (14 << 10, (14 << 10) + 64),
            ((14 << 10) + 1, (20 << 10) + 128),
            (30_000, (36 << 10) + 128),
        ] {
            assert_eq!(allocated(size), taken, "{size}");
        }
    }

    proptest! {
        #[test]
        fn a_slice_is_the_bytes_asked_for(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 1..10), first in 0u64..50, len in 1u64..50) {
            let all = chunks.concat();
            prop_assume!(first < all.len() as u64);
            let body = Body::Chunks(chunks.into_iter().map(Bytes::from).collect::<Vec<_>>().into());
            let end = (first + len).min(all.len() as u64);
            let got = body.slice(Span { first, last: end - 1 }).expect("held");
            prop_assert_eq!(piece::joined(&got), &all[first as usize..end as usize]);
        }
    }
}
