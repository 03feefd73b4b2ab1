//! A piece of a body, wherever it lies.

use super::{HANDLE, allocated};
use crate::{
    arena::Extent,
    disk::{FileSpan, OnDisk},
};
use bytes::Bytes;
use rules::range::Span;
use std::sync::Arc;

/// Consecutive bytes, in memory or on disk.
#[derive(Clone, Debug)]
pub enum BodyPiece {
    /// In memory.
    Memory(Bytes),
    /// In memory that the kernel sends without copying. Not kept as bytes that refer to it, because nobody can tell
    /// whether others have such bytes.
    Mapped(Arc<Extent>),
    /// On disk.
    Disk(OnDisk),
}

/// The next bytes to be sent.
#[derive(Debug)]
pub enum Part {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes in a file.
    File(FileSpan),
}

impl From<Bytes> for Part {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<FileSpan> for Part {
    fn from(span: FileSpan) -> Self {
        Self::File(span)
    }
}

impl Part {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(span) => span.len(),
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Bytes> for BodyPiece {
    fn from(bytes: Bytes) -> Self {
        Self::Memory(bytes)
    }
}

impl From<OnDisk> for BodyPiece {
    fn from(bytes: OnDisk) -> Self {
        Self::Disk(bytes)
    }
}

impl BodyPiece {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Mapped(extent) => extent.len() as u64,
            Self::Disk(bytes) => bytes.len(),
        }
    }

    /// The bytes, if they are in memory.
    pub fn in_memory(self) -> Option<Bytes> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::Mapped(extent) => Some(extent.bytes()),
            Self::Disk(_) => None,
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it lies on disk and [cannot be read](OnDisk::is_broken).
    pub fn is_broken(&self) -> bool {
        matches!(self, Self::Disk(bytes) if bytes.is_broken())
    }

    /// Returns the same piece, whose file on disk [stays open](OnDisk::held).
    #[must_use]
    pub fn held(self) -> Self {
        match self {
            Self::Disk(bytes) => Self::Disk(bytes.held()),
            other @ (Self::Memory(_) | Self::Mapped(_)) => other,
        }
    }

    /// Returns the same piece in memory of its own: keeping a part of a piece does not keep the rest of it.
    pub(super) fn apart(self) -> Self {
        match self {
            Self::Memory(bytes) => Self::Memory(Bytes::copy_from_slice(&bytes)),
            other @ (Self::Mapped(_) | Self::Disk(_)) => other,
        }
    }

    /// Bytes of memory that it takes.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Memory(bytes) => allocated(bytes.len()),
            Self::Mapped(extent) => extent.weight(),
            Self::Disk(_) => HANDLE,
        }
    }

    /// The part that lies in `span`, if the piece itself begins at `first`; `None` if there is none.
    pub(crate) fn cut(&self, first: u64, span: Span) -> Option<Self> {
        match self {
            Self::Memory(bytes) => cut(bytes, first, span).map(Self::Memory),
            Self::Mapped(extent) => cut(&extent.bytes(), first, span).map(Self::Memory),
            Self::Disk(bytes) => {
                let span = within(first, bytes.len(), span)?;
                bytes.slice(span).map(Self::Disk)
            }
        }
    }
}

/// The part of `bytes`, which begin at `first`, that lies in `span`.
pub(super) fn cut(bytes: &Bytes, first: u64, span: Span) -> Option<Bytes> {
    let span = within(first, bytes.len() as u64, span)?;
    Some(bytes.slice(span.first as usize..=span.last as usize))
}

/// The part of `span` that lies in `length` bytes that begin at `first`, relative to `first`.
fn within(first: u64, length: u64, span: Span) -> Option<Span> {
    let last = first.checked_add(length.checked_sub(1)?)?;
    let (from, to) = (span.first.max(first), span.last.min(last));
    (from <= to).then(|| Span {
        first: from - first,
        last: to - first,
    })
}

#[cfg(test)]
pub(super) fn joined(pieces: &[BodyPiece]) -> Vec<u8> {
    let mut all = Vec::new();
    for piece in pieces {
        match piece {
            BodyPiece::Memory(bytes) => all.extend_from_slice(bytes),
            BodyPiece::Mapped(extent) => all.extend_from_slice(&extent.bytes()),
            BodyPiece::Disk(_) => panic!("in memory"),
        }
    }
    all
}
