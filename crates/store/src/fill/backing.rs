//! Where a body goes when it outgrows memory.

use crate::{
    BodyPiece,
    disk::{self, Disk, Failed},
};
use bytes::Bytes;
use std::{
    fmt,
    task::{Context, Poll},
};

/// Takes bodies that outgrow memory.
pub trait Overflow: fmt::Debug + Send + Sync {
    /// Begins a body, of `length` bytes if that is known. `None` if it is not taken.
    fn begin(&self, length: Option<u64>) -> Option<Box<dyn Backing>>;
}

/// A body that is written somewhere larger than memory. If dropped before it is [finished](Self::poll_finish), it is
/// given up.
pub trait Backing: fmt::Debug + Send {
    /// Takes a piece. Ready when it is taken. Nothing is pushed after an error. `is_short`: memory is short, so that as
    /// little as possible should wait to be written.
    fn poll_push(
        &mut self,
        piece: &Bytes,
        is_short: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failed>>;

    /// What can be read back by now: the body up to some byte. It only grows.
    fn written(&self) -> BodyPiece;

    /// Ends the body. Ready with the whole body when all pieces are written. Not called again after that, or after an
    /// error.
    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<BodyPiece, Failed>>;
}

impl Overflow for Disk {
    fn begin(&self, length: Option<u64>) -> Option<Box<dyn Backing>> {
        let writer = Self::begin(self, length)?;
        Some(Box::new(writer))
    }
}

impl Backing for disk::Writer {
    fn poll_push(
        &mut self,
        piece: &Bytes,
        is_short: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failed>> {
        Self::poll_push(self, piece, is_short, context)
    }

    fn written(&self) -> BodyPiece {
        Self::written(self).into()
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<BodyPiece, Failed>> {
        Self::poll_finish(self, context).map_ok(BodyPiece::from)
    }
}
