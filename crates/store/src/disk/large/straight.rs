//! Writes a large body that has arrived completely.

use super::Large;
use crate::disk::format::CHUNK;
use std::{io, sync::atomic::Ordering::Release};

/// A writer for a body that has arrived completely.
pub(in crate::disk) struct Straight<'a> {
    large: &'a Large,
    chunk: Vec<u8>,
}

impl Straight<'_> {
    /// Appends the next bytes of the body, and writes whole chunks.
    ///
    /// # Errors
    /// The device failed, or there was no more room (`QuotaExceeded`).
    pub fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
            if self.chunk.len() == CHUNK {
                self.write()?;
            }
        }
        Ok(())
    }

    /// Ends the body.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.chunk.is_empty() {
            self.write()?;
        }
        self.large.is_whole.store(true, Release);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.large.write_chunk(&self.chunk);
        self.chunk.clear();
        written.map_err(|error| error.unwrap_or_else(|| io::ErrorKind::QuotaExceeded.into()))
    }
}

impl Large {
    /// Begins to write a complete body on the calling thread. There must be room for `bytes` of the file.
    pub fn straight(&self, bytes: u64) -> Straight<'_> {
        self.tail().room = bytes;
        Straight {
            large: self,
            chunk: Vec::with_capacity(CHUNK),
        }
    }
}
