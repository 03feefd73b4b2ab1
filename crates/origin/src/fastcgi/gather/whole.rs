//! A gathered body on its way out: first the file's content, then what is held in memory.

use super::{Cause, Gathered, done, unkept};
use crate::Room;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    fs::File,
    io, mem,
    os::unix::fs::FileExt as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes read from a file at a time.
const PIECE: u64 = 128 * 1024;

/// A body that was gathered: first the file's content, then what is held in memory.
pub(super) struct Whole {
    file: Option<Arc<File>>,
    at: u64,
    end: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    held: Bytes,
    /// Held for its drop.
    _room: Option<Room>,
}

impl Gathered {
    pub(super) fn into_whole(self) -> Whole {
        Whole {
            file: self.file.map(Arc::new),
            at: 0,
            end: self.filed,
            reading: None,
            held: self.held.into(),
            _room: self.room,
        }
    }
}

impl Whole {
    pub(super) fn left(&self) -> u64 {
        self.end - self.at + self.held.len() as u64
    }

    /// Reads the next piece of the file, at most up to its end.
    fn poll_file(&mut self, file: &Arc<File>, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let reading = self.reading.get_or_insert_with(|| {
            let (file, at) = (Arc::clone(file), self.at);
            let length = (self.end - at).min(PIECE);
            spawn_blocking(move || {
                let mut piece = vec![0; usize::try_from(length).unwrap_or(0)];
                file.read_exact_at(&mut piece, at)?;
                Ok(piece.into())
            })
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        Poll::Ready(done(read).inspect(|piece: &Bytes| self.at += piece.len() as u64))
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Cause;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
        let this = self.get_mut();
        if let Some(file) = this.file.clone() {
            if this.at < this.end {
                let read = ready!(this.poll_file(&file, cx));
                let frame = read.map(Frame::data).map_err(|cause| unkept(&cause).into());
                return Poll::Ready(Some(frame));
            }
            this.file = None;
        }
        let held = mem::take(&mut this.held);
        Poll::Ready((!held.is_empty()).then(|| Ok(Frame::data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
