//! Cuts a body into the chunks that are written.

use crate::{Body, Pieces, disk, shared::chunk};
use bytes::Bytes;
use std::future::poll_fn;

/// A body cut into chunks of [`chunk::LONGEST`] bytes. Of parts, what is held, one after the other.
pub(super) struct Cut {
    pieces: Pieces,
    /// The bytes that have been read beyond the last chunk.
    ready: Bytes,
}

impl Cut {
    pub(super) fn of(body: &Body) -> Option<Self> {
        let ready = Bytes::new();
        Some(Self {
            pieces: body.pieces()?.into(),
            ready,
        })
    }

    /// Returns the next chunk: a slice of what is there, if that is long enough.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, disk::Failed> {
        if !self.more().await? {
            return Ok(None);
        }
        let first = self.take(chunk::LONGEST);
        if first.len() == chunk::LONGEST || self.pieces.left() == 0 {
            return Ok(Some(first));
        }
        let mut gathered = Vec::with_capacity(chunk::LONGEST);
        gathered.extend_from_slice(&first);
        while gathered.len() < chunk::LONGEST && self.more().await? {
            gathered.extend_from_slice(&self.take(chunk::LONGEST - gathered.len()));
        }
        Ok(Some(gathered.into()))
    }

    /// Whether anything is left. If so, it is `ready` then.
    async fn more(&mut self) -> Result<bool, disk::Failed> {
        if self.ready.is_empty()
            && let Some(read) = poll_fn(|context| self.pieces.poll_next(context)).await
        {
            self.ready = read?;
        }
        Ok(!self.ready.is_empty())
    }

    fn take(&mut self, most: usize) -> Bytes {
        self.ready.split_to(most.min(self.ready.len()))
    }
}
