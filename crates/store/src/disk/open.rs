//! A source with its open file, from which chunks are read.

use super::{
    Failed, chunk,
    device::{Missed, ReadMode},
    format::CHUNK,
    segment::Segment,
    source::DiskSource,
};
use bytes::Bytes;
use std::{
    fs::File,
    sync::{Arc, OnceLock},
};
use tokio::sync::oneshot;

/// A chunk that a thread of the tier reads.
pub(super) type PendingChunk = oneshot::Receiver<Result<Bytes, Failed>>;

/// A source with its open file.
#[derive(Clone, Debug)]
pub(super) struct OpenSource {
    pub source: DiskSource,
    segment: Option<Arc<Segment>>,
    /// The file, if the body has one of its own.
    file: OnceLock<Arc<File>>,
}

impl OpenSource {
    /// Opens `source`, which lies in `segment`; without one if it has a file of its own, or the segment is gone.
    pub fn new(source: DiskSource, segment: Option<Arc<Segment>>) -> Self {
        let open = Self {
            source,
            segment,
            file: OnceLock::new(),
        };
        // The file stays open from now on.
        let _ = open.file();
        open
    }

    /// The file; `None` if it is gone, or is a large file that is not made yet.
    pub fn file(&self) -> Option<&File> {
        match &self.source {
            DiskSource::Large(large) => {
                if self.file.get().is_none() {
                    // Another thread may have been first.
                    let _ = self.file.set(large.file()?);
                }
                self.file.get().map(|file| &**file)
            }
            DiskSource::Inline(_) => self.segment.as_ref().map(|segment| &segment.file),
        }
    }

    /// Whether the byte at `at` of the body is in the page cache, so that reading it does not wait for the device.
    /// False if there is no file.
    pub fn is_at_hand(&self, at: u64) -> bool {
        let source = &self.source;
        let file = self.file();
        file.is_some_and(|file| source.device().is_at_hand(file, source.offset(at)))
    }

    /// Reads chunk `number` of the `whole` bytes into `buffer`, and verifies it.
    pub fn chunk(
        &self,
        number: u64,
        whole: u64,
        mut buffer: Vec<u8>,
        mode: ReadMode,
    ) -> Result<Bytes, Missed> {
        let length = chunk::end(number, whole).saturating_sub(chunk::begin(number)) as usize;
        buffer.resize(length, 0);
        match &self.source {
            DiskSource::Large(large) => {
                let missing = || {
                    if large.is_gone() {
                        Missed::Failed
                    } else {
                        Missed::Waits
                    }
                };
                let file = self.file().ok_or_else(missing)?;
                large.read(file, number, &mut buffer, mode)?;
                if large.is_whole() {
                    large.sound.mark(number, whole);
                }
            }
            DiskSource::Inline(inline) => {
                let file = self.file().ok_or(Missed::Failed)?;
                inline.read(file, number, &mut buffer, mode)?;
                inline.mark(number, whole);
            }
        }
        Ok(buffer.into())
    }

    /// The first chunk in `at..end` of the `whole` bytes that is not in the page cache.
    pub fn first_missing(&self, at: u64, end: u64, whole: u64) -> Option<u64> {
        let mut chunks = at / CHUNK as u64..end.div_ceil(CHUNK as u64);
        chunks.find(|number| {
            let last = chunk::end(*number, whole).min(end).saturating_sub(1);
            !(self.is_at_hand(chunk::begin(*number).max(at)) && self.is_at_hand(last))
        })
    }

    /// Has a thread of the tier read chunk `number` of the `whole` bytes; `None` if the tier is closed. It is never
    /// refused otherwise, since the head may have been sent. A reader has at most one job, so that there are no more
    /// jobs than readers.
    pub fn read_aside(&self, number: u64, whole: u64) -> Option<PendingChunk> {
        let (answer, pending) = oneshot::channel();
        let open = self.clone();
        let read = move || {
            let chunk = open.chunk(number, whole, Vec::new(), ReadMode::Blocking);
            // The reader may have gone.
            let _ = answer.send(chunk.map_err(|_| Failed));
        };
        let readers = &self.source.device().readers;
        readers.run_always(read).then_some(pending)
    }
}
