//! The memory that a body refers to.

use super::{Body, BodyPiece, allocated};
use crate::arena::Extent;
use bytes::Bytes;
use std::sync::Arc;

/// An allocation that bodies refer to. Several may refer to one: a 304 gives a body to another variant too, and
/// combined parts are those that arrived. A body shares its allocation with nothing but the head of its response, and
/// its bytes have no other owner: `Bytes` do not tell who else has a part of them, and if they have an owner, nobody
/// can tell whether they are shared.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Bytes(Bytes),
    Extent(Arc<Extent>),
}

impl Block {
    /// Its address. No other block has it while this one is held.
    pub fn address(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.as_ptr().addr(),
            Self::Extent(extent) => Arc::as_ptr(extent).addr(),
        }
    }

    /// Whether others refer to it.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Bytes(bytes) => !bytes.is_unique(),
            Self::Extent(extent) => Arc::strong_count(extent) > 1,
        }
    }

    /// Bytes of memory that it takes.
    pub fn weight(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => allocated(bytes.len()),
            Self::Extent(extent) => extent.weight(),
        }
    }
}

impl Body {
    /// The memory that it refers to. A fill looks after its own.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        match self {
            Self::Whole(bytes) => of_bytes(bytes).into_iter().collect(),
            Self::Mapped(extent) => vec![Block::Extent(extent.clone())],
            Self::Chunks(chunks) => chunks.iter().filter_map(of_bytes).collect(),
            Self::Parts(parts) => {
                let pieces = parts.pieces().iter();
                pieces.filter_map(|(_, piece)| of_piece(piece)).collect()
            }
            Self::Disk(_) | Self::Filling(_) => Vec::new(),
        }
    }
}

fn of_piece(piece: &BodyPiece) -> Option<Block> {
    match piece {
        BodyPiece::Memory(bytes) => of_bytes(bytes),
        BodyPiece::Mapped(extent) => Some(Block::Extent(extent.clone())),
        BodyPiece::Disk(_) => None,
    }
}

fn of_bytes(bytes: &Bytes) -> Option<Block> {
    (!bytes.is_empty()).then(|| Block::Bytes(bytes.clone()))
}
