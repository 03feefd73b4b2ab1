//! Header sections that came lately, with what they were read as: a client says in its next request mostly what it said in the last,
//! but for the target, and reading that is half the work of a hit.

use super::head::Told;
use bytes::Bytes;
use http::HeaderMap;
use memchr::memmem;
use std::array;
use xxhash_rust::xxh3::xxh3_64;

/// How many are kept: two hundred kilobytes for each worker at the usual size of one, and half a megabyte at most. Each lies where
/// its bytes say, and makes room for the next that lies there.
const KEPT: usize = 64;

/// The longest head whose section is kept, in bytes.
const LONGEST: usize = 4 << 10;

/// A header section as it came: field lines, and the empty line behind them (RFC 9112 section 2.1).
#[derive(Debug)]
pub(super) struct Section {
    /// The head it came in.
    pub(super) head: Bytes,
    /// Where in that it begins, if it has lines.
    pub(super) at: usize,
    pub(super) lines: usize,
    pub(super) told: Told,
}

impl Section {
    /// As it came.
    pub(super) fn bytes(&self) -> &[u8] {
        match self.lines {
            0 => b"\r\n",
            _ => self.head.get(self.at..).unwrap_or_default(),
        }
    }
}

/// The sections that requests of one worker came with. They are told apart by all of their bytes, so that nothing of one request
/// gets into another.
pub(super) struct Sections {
    kept: Box<[Option<(Section, HeaderMap)>; KEPT]>,
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            kept: Box::new(array::from_fn(|_| None)),
        }
    }
}

impl Sections {
    /// Takes out the section that `bytes` begin with, and its fields; and says how long it is.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<(usize, (Section, HeaderMap))> {
        // Mostly nothing follows, and where it ends need not be looked for: one that was read ends where its bytes do.
        if let Some(taken) = self.take_same(bytes) {
            return Some((bytes.len(), taken));
        }
        let end = memmem::find(bytes, b"\r\n\r\n")? + 4;
        let section = bytes.get(..end).filter(|_| end < bytes.len())?;
        Some((end, self.take_same(section)?))
    }

    fn take_same(&mut self, bytes: &[u8]) -> Option<(Section, HeaderMap)> {
        self.place(bytes)?
            .take_if(|(section, _)| section.bytes() == bytes)
    }

    /// Keeps a section, and its fields, for the next request that has it. Returns a map that is not needed any more.
    pub(super) fn keep(&mut self, section: Section, fields: HeaderMap) -> Option<HeaderMap> {
        // Fields that are not those of the section would be another request's. One without lines would be found in any head
        // that is not all there yet.
        if section.lines == 0 || section.head.len() > LONGEST || fields.len() != section.lines {
            return Some(fields);
        }
        let Some(place) = self.place(section.bytes()) else {
            return Some(fields);
        };
        place.replace((section, fields)).map(|(_, fields)| fields)
    }

    fn place(&mut self, bytes: &[u8]) -> Option<&mut Option<(Section, HeaderMap)>> {
        let at = xxh3_64(bytes) % KEPT as u64;
        self.kept.get_mut(at as usize)
    }
}

/// A request's line, as far as `bytes` begin with one, and what follows it.
pub(super) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(memchr::memchr(b'\n', bytes)? + 1)
}

#[cfg(test)]
mod tests;
