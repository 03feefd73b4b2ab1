//! Memory in which answers are written, and which is reused.

use http::{HeaderName, HeaderValue};
use std::fmt;

/// What is written next: a head, and content that is copied after it.
pub(super) struct WriteBuffer {
    pub(super) bytes: Box<[u8]>,
    length: usize,
}

impl WriteBuffer {
    pub(super) fn on(bytes: Box<[u8]>) -> Self {
        Self { bytes, length: 0 }
    }

    /// Adds `text`; `None` if it does not fit.
    #[inline]
    pub(super) fn put(&mut self, text: &[u8]) -> Option<()> {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end)?.copy_from_slice(text);
        self.length = end;
        Some(())
    }

    /// Adds a field line; `None` if it does not fit.
    #[inline]
    pub(super) fn put_field(&mut self, name: &HeaderName, value: &HeaderValue) -> Option<()> {
        self.put_line(name.as_str().as_bytes(), value.as_bytes())
    }

    /// As [`put_field`](Self::put_field), for bytes that are known to be a name and a value.
    #[inline]
    pub(super) fn put_line(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        self.put(name)?;
        self.put(b": ")?;
        self.put(value)?;
        self.put(b"\r\n")
    }

    /// Removes what was written.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn written(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// How many bytes still fit.
    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.length
    }
}

impl fmt::Write for WriteBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes()).ok_or(fmt::Error)
    }
}
