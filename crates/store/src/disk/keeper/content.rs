//! The content of a record: the body, or the name of the file that has it.

use super::{Keeper, Refused};
use crate::{
    Body, BodyPiece, Stored,
    disk::{OnDisk, large::Large, layout::file_length},
};
use bytes::Bytes;
use std::sync::Arc;

/// The content of a record.
pub(super) enum Content {
    /// The body itself.
    Inline(Vec<u8>),
    /// The name of the file with the body.
    Large(Arc<Large>, u64),
}

impl Keeper {
    /// Returns the content for the record of `stored`. A large body that is not in a file yet is written to one.
    pub(super) fn content(&mut self, stored: &Stored) -> Result<Content, Refused> {
        if let Body::Disk(bytes) = &stored.body
            && let Some(large) = bytes.whole_file()
            && Arc::ptr_eq(&large.device, &self.shared.device)
        {
            let is_there = large.is_whole() && !large.is_failed() && self.ledger.has(large.id);
            return is_there
                .then(|| Content::Large(large.clone(), bytes.len()))
                .ok_or(Refused::Unfit);
        }
        let pieces = stored.body.pieces().ok_or(Refused::Unfit)?;
        let length = pieces.iter().map(BodyPiece::len).sum();
        if length > self.shared.most_inline {
            let large = self.write_large(pieces, length)?;
            return Ok(Content::Large(large, length));
        }
        let mut body = Vec::with_capacity(length as usize);
        for piece in pieces {
            read_piece(&piece, |bytes| body.extend_from_slice(&bytes))?;
        }
        Ok(Content::Inline(body))
    }

    /// Writes a large body to a file of its own.
    fn write_large(&mut self, pieces: Vec<BodyPiece>, length: u64) -> Result<Arc<Large>, Refused> {
        let bytes = file_length(length);
        if length > self.shared.most_large || !self.make_room(bytes) {
            return Err(Refused::Unfit);
        }
        let large = Arc::new(self.shared.new_large(Some(length)));
        self.ledger.grow(large.id, bytes);
        self.total += bytes;
        let mut chunks = large.straight(bytes);
        let mut written = Ok(());
        for piece in pieces {
            let read = read_piece(&piece, |bytes| {
                if written.is_ok() {
                    written = chunks.push(&bytes);
                }
            });
            read?;
        }
        written?;
        chunks.finish()?;
        Ok(large)
    }
}

/// Reads a piece, and calls `see` with its bytes, wherever they lie.
fn read_piece(piece: &BodyPiece, mut see: impl FnMut(Bytes)) -> Result<(), Refused> {
    match piece {
        BodyPiece::Memory(bytes) => {
            see(bytes.clone());
            Ok(())
        }
        BodyPiece::Mapped(extent) => {
            see(extent.bytes());
            Ok(())
        }
        BodyPiece::Disk(bytes) => OnDisk::read_all(bytes, see).map_err(|_| Refused::Unfit),
    }
}
