//! Bytes on disk: a body, or a span of one.

use super::{
    Doing, Failed, Reader, chunk, device::ReadMode, format::CHUNK, inline::Inline, large::Large,
    open::OpenSource, source::DiskSource,
};
use bytes::Bytes;
use rules::range::Span;
use std::sync::Arc;

/// Bytes on disk: a body, or a span of one. Cheap to clone. Keeps no file open that can be found by its record, unless it is
/// [held](Self::held): who has these bytes for long asks [`is_gone`](Self::is_gone) before a use.
#[derive(Clone, Debug)]
pub struct OnDisk {
    source: DiskSource,
    /// The file, open, where these bytes are [held](Self::held).
    open: Option<Arc<OpenSource>>,
    /// Bytes of the whole source, by which the length of its last chunk is known.
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

    /// The file of its own that these bytes are all of.
    pub(super) fn whole_file(&self) -> Option<&Arc<Large>> {
        match &self.source {
            DiskSource::Large(large) if self.length == self.whole => Some(large),
            _ => None,
        }
    }

    /// Whether they lie in a segment, with others.
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

    /// Whether it is gone, turned out to be damaged or could not be read, or the device is out of order now: nothing of it is to
    /// be promised to anybody. Bytes that nobody has read may still turn out to be bad.
    pub fn is_broken(&self) -> bool {
        self.source.is_failed()
            || self.is_gone()
            || !self.source.device().health.may(Doing::Reading)
    }

    /// Whether its file has made room for others, or is kept open no more: the tier may have the bytes all the same.
    pub fn is_gone(&self) -> bool {
        match &self.source {
            DiskSource::Large(large) => large.is_gone(),
            DiskSource::Inline(inline) => inline.is_gone(),
        }
    }

    /// The part in `span`, relative to these bytes; `None` where it does not lie within them.
    #[must_use]
    pub fn slice(&self, span: Span) -> Option<Self> {
        let fits = span.first <= span.last && span.last < self.length;
        fits.then(|| Self {
            first: self.first + span.first,
            length: span.length(),
            ..self.clone()
        })
    }

    /// The same, and its file stays open as long as this is there: for who has promised these bytes, and comes to read them later.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.open
            .get_or_insert_with(|| Arc::new(self.source.open()));
        self
    }

    /// Reads from the first byte on.
    pub fn reader(&self) -> Reader {
        let end = self.first + self.length;
        let open = self.open.as_deref().cloned();
        let open = open.unwrap_or_else(|| self.source.open());
        Reader::new(open, self.first, end, self.whole)
    }

    /// Reads all of it, waiting for the device; every piece goes to `see`.
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
