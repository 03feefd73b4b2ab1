//! Reads pieces one after another.

use super::{BodyPiece, Part};
use crate::disk::{self, Failed};
use bytes::Bytes;
use std::{
    task::{Context, Poll, ready},
    vec,
};

/// Reads pieces one after another: those in memory at once, those on disk chunk by chunk.
#[derive(Debug)]
pub struct Pieces {
    rest: vec::IntoIter<BodyPiece>,
    /// The reader of the current piece on disk, and the bytes still to come from there.
    current: Option<(disk::Reader, u64)>,
    left: u64,
}

impl From<Vec<BodyPiece>> for Pieces {
    fn from(pieces: Vec<BodyPiece>) -> Self {
        let left = pieces.iter().map(BodyPiece::len).sum();
        let mut rest = pieces.into_iter();
        let current = match rest.as_slice().first() {
            Some(BodyPiece::Disk(bytes)) => Some((bytes.reader(), bytes.len())),
            _ => None,
        };
        if current.is_some() {
            rest.next();
        }
        // Pieces after the first may be reached much later.
        let rest: Vec<_> = rest.map(BodyPiece::held).collect();
        Self {
            left,
            rest: rest.into_iter(),
            current,
        }
    }
}

impl Pieces {
    /// Bytes still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next bytes; `None` at the end. After an error it is not polled again.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        self.poll_with(context, disk::Reader::poll_next)
    }

    /// Like [`poll_next`](Self::poll_next), for callers that can send from a file.
    pub fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Part, Failed>>> {
        self.poll_with(context, disk::Reader::poll_part)
    }

    fn poll_with<T: From<Bytes> + Length>(
        &mut self,
        context: &mut Context<'_>,
        read: impl Fn(&mut disk::Reader, &mut Context<'_>) -> Poll<Option<Result<T, Failed>>>,
    ) -> Poll<Option<Result<T, Failed>>> {
        loop {
            let Some((reader, left)) = &mut self.current else {
                match self.rest.next() {
                    Some(BodyPiece::Memory(bytes)) if bytes.is_empty() => {}
                    Some(BodyPiece::Memory(bytes)) => {
                        self.left -= bytes.len() as u64;
                        return Poll::Ready(Some(Ok(bytes.into())));
                    }
                    Some(BodyPiece::Mapped(extent)) => {
                        self.left -= extent.len() as u64;
                        return Poll::Ready(Some(Ok(extent.bytes().into())));
                    }
                    Some(BodyPiece::Disk(bytes)) => {
                        self.current = Some((bytes.reader(), bytes.len()));
                    }
                    None => return Poll::Ready(None),
                }
                continue;
            };
            let read = ready!(read(reader, context));
            // More or less than was promised is as bad as an error: `Content-Length` has been sent.
            return Poll::Ready(match read.transpose() {
                Ok(Some(bytes)) if bytes.length() <= *left => {
                    *left -= bytes.length();
                    self.left -= bytes.length();
                    Some(Ok(bytes))
                }
                Ok(None) if *left == 0 => {
                    self.current = None;
                    continue;
                }
                Ok(_) => Some(Err(Failed)),
                Err(failed) => Some(Err(failed)),
            });
        }
    }
}

trait Length {
    /// In bytes.
    fn length(&self) -> u64;
}

impl Length for Bytes {
    fn length(&self) -> u64 {
        self.len() as u64
    }
}

impl Length for Part {
    fn length(&self) -> u64 {
        self.len()
    }
}
