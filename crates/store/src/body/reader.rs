//! Reads pieces one after another.

use super::Piece;
use crate::disk::{self, Failed};
use bytes::Bytes;
use std::{
    task::{Context, Poll, ready},
    vec,
};

/// Reads pieces one after another: those in memory at once, those on disk chunk by chunk.
#[derive(Debug)]
pub struct Pieces {
    rest: vec::IntoIter<Piece>,
    /// What is being read from disk, and the bytes still to come from there.
    current: Option<(disk::Reader, u64)>,
    left: u64,
}

impl From<Vec<Piece>> for Pieces {
    fn from(pieces: Vec<Piece>) -> Self {
        Self {
            left: pieces.iter().map(Piece::len).sum(),
            rest: pieces.into_iter(),
            current: None,
        }
    }
}

impl Pieces {
    /// Bytes still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes; `None` at the end. After an error it is not polled again.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failed>>> {
        loop {
            let Some((reader, left)) = &mut self.current else {
                match self.rest.next() {
                    Some(Piece::Memory(bytes)) if bytes.is_empty() => {}
                    Some(Piece::Memory(bytes)) => {
                        self.left -= bytes.len() as u64;
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                    Some(Piece::Disk(bytes)) => {
                        self.current = Some((bytes.reader(), bytes.len()));
                    }
                    None => return Poll::Ready(None),
                }
                continue;
            };
            let read = ready!(reader.poll_next(context));
            // More or less than was promised is as bad as an error: `Content-Length` has been sent.
            return Poll::Ready(match read.transpose() {
                Ok(Some(bytes)) if bytes.len() as u64 <= *left => {
                    *left -= bytes.len() as u64;
                    self.left -= bytes.len() as u64;
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
