//! Bytes on disk: a body, or a span of one.

use super::{
    Doing, Failed, Reader, chunk, device::ReadMode, format::CHUNK, inline::Inline, large::Large,
    open::OpenSource, source::DiskSource,
};
use bytes::Bytes;
use rules::range::Span;
use std::sync::Arc;

/// Bytes on disk: a body, or a span of one. Cheap to clone. Keeps no file open that can be found by its record, unless
/// it is [held](Self::held). Whoever has these bytes for long asks [`is_gone`](Self::is_gone) before each use.
#[derive(Clone, Debug)]
pub struct OnDisk {
    source: DiskSource,
    /// The open file, if these bytes are [held](Self::held).
    open: Option<Arc<OpenSource>>,
    /// Bytes of the whole source, which tell the length of its last chunk.
    whole: u64,
    first: u64,
    length: u64,
}

impl OnDisk {
    pub(super) fn large(large: Arc<Large>, whole: u64) -> Self {
        Self {
            source: DiskSource::Large(large),
            open: None,
            whole,
            first: 0,
            length: whole,
        }
    }

    pub(super) fn inline(inline: Arc<Inline>, whole: u64) -> Self {
        Self {
            source: DiskSource::Inline(inline),
            open: None,
            whole,
            first: 0,
            length: whole,
        }
    }

    /// The large file, if these bytes are all of its body.
    pub(super) fn whole_file(&self) -> Option<&Arc<Large>> {
        match &self.source {
            DiskSource::Large(large) if self.length == self.whole => Some(large),
            _ => None,
        }
    }

    /// Whether they lie in a segment, with other records.
    pub fn is_in_segment(&self) -> bool {
        matches!(self.source, DiskSource::Inline(_))
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether these bytes are gone, turned out to be damaged or could not be read, or the device is out of order now.
    /// Then nothing of them may be promised to anybody. Bytes that nobody has read may still turn out to be damaged.
    pub fn is_broken(&self) -> bool {
        self.source.is_failed()
            || self.is_gone()
            || !self.source.device().health.may(Doing::Reading)
    }

    /// Whether the file was evicted, or is no longer kept open. The tier may have the bytes all the same.
    pub fn is_gone(&self) -> bool {
        match &self.source {
            DiskSource::Large(large) => large.is_gone(),
            DiskSource::Inline(inline) => inline.is_gone(),
        }
    }

    /// The part in `span`, relative to these bytes; `None` if it does not lie within them.
    #[must_use]
    pub fn slice(&self, span: Span) -> Option<Self> {
        let fits = span.first <= span.last && span.last < self.length;
        fits.then(|| Self {
            first: self.first + span.first,
            length: span.length(),
            ..self.clone()
        })
    }

    /// Returns the same bytes, with the file open for as long as they exist. For those who have promised these bytes
    /// and read them later.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.open
            .get_or_insert_with(|| Arc::new(self.source.open()));
        self
    }

    /// Returns a reader that begins at the first byte.
    pub fn reader(&self) -> Reader {
        let end = self.first + self.length;
        let open = self.open.as_deref().cloned();
        let open = open.unwrap_or_else(|| self.source.open());
        Reader::new(open, self.first, end, self.whole)
    }

    /// Reads all bytes, waiting for the device, and calls `see` with every piece.
    pub(super) fn read_all(&self, mut see: impl FnMut(Bytes)) -> Result<(), Failed> {
        let end = self.first + self.length;
        let mut at = self.first;
        if let DiskSource::Large(large) = &self.source
            && large.readable() < end
        {
            return Err(Failed);
        }
        let open = self.source.open();
        while at < end {
            let number = at / CHUNK as u64;
            let chunk = open.chunk(number, self.whole, Vec::new(), ReadMode::Blocking);
            let piece = chunk::cut(number, &chunk.map_err(|_| Failed)?, at, end);
            if piece.is_empty() {
                return Err(Failed);
            }
            at += piece.len() as u64;
            see(piece);
        }
        Ok(())
    }
}
