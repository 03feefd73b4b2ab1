//! Where a body goes that outgrows memory.

use crate::{
    Piece,
    disk::{self, Disk, Failed},
};
use bytes::Bytes;
use std::{
    fmt,
    task::{Context, Poll},
};

/// Takes bodies that outgrow memory.
pub trait Overflow: fmt::Debug + Send + Sync {
    /// Begins a body, of `length` bytes if that is known. `None` where it is not taken.
    fn begin(&self, length: Option<u64>) -> Option<Box<dyn Backing>>;
}

/// One body that is written somewhere larger than memory. Dropped before [`finish`](Self::finish), it is given up.
pub trait Backing: fmt::Debug + Send {
    /// Takes a piece; ready when it has. Nothing is pushed after an error.
    fn poll_push(&mut self, piece: &Bytes, context: &mut Context<'_>) -> Poll<Result<(), Failed>>;

    /// What can be read back by now: the body up to some byte. Grows only.
    fn written(&self) -> Piece;

    /// The whole body.
    ///
    /// # Errors
    /// It could not be written.
    fn finish(self: Box<Self>) -> Result<Piece, Failed>;
}

impl Overflow for Disk {
    fn begin(&self, length: Option<u64>) -> Option<Box<dyn Backing>> {
        let writer = Self::begin(self, length)?;
        Some(Box::new(writer))
    }
}

impl Backing for disk::Writer {
    fn poll_push(&mut self, piece: &Bytes, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Self::poll_push(self, piece, context)
    }

    fn written(&self) -> Piece {
        Self::written(self).into()
    }

    fn finish(self: Box<Self>) -> Result<Piece, Failed> {
        Self::finish(*self).map(Piece::from)
    }
}
