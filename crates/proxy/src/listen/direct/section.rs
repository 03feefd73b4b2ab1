//! Header sections that came lately, with their parsed fields. Apart from the target, a client mostly repeats its last
//! request, and to parse that is half the work of a hit.

use super::head::{self, FieldSummary};
use crate::listen::config::Limits;
use bytes::Bytes;
use http::HeaderMap;
use memchr::memmem;
use std::{array, rc::Rc};
use xxhash_rust::xxh3::xxh3_64;

/// How many sections are kept. The bytes of a section give its place, where the next one with the same place replaces
/// it.
const KEPT: usize = 64;

/// How many more maps of fields are kept, beyond the first of each section, since requests with the same section wait
/// for an origin at the same time. With the usual twenty fields all of them take half a megabyte for each worker, and
/// three megabytes at most.
const MOST_AGAIN: usize = 128;

/// The longest head whose section is kept, in bytes.
const LONGEST: usize = 4 << 10;

/// A header section as it came: field lines, and the empty line after them (RFC 9112 section 2.1).
#[derive(Debug)]
pub(super) struct Section {
    /// The head in which it came.
    head: Bytes,
    /// Where it begins in the head, if it has lines.
    at: usize,
    pub(super) lines: usize,
    pub(super) told: FieldSummary,
    /// Its place, if it is kept.
    place: usize,
}

impl Section {
    /// The section of `lines` lines that begins at `at` in `head`.
    pub(super) fn new(head: Bytes, at: usize, lines: usize, told: FieldSummary) -> Self {
        let mut section = Self {
            head,
            at,
            lines,
            told,
            place: 0,
        };
        section.place = place(section.bytes());
        section
    }

    /// Whether `fields` are those of the section, found by parsing it again. No section that is kept exceeds the
    /// default limits.
    fn says(&self, fields: &HeaderMap) -> bool {
        let head = [b"GET / HTTP/1.1\r\n", self.bytes()].concat();
        head::request(&head, &Limits::default())
            .is_some_and(|(request, length)| length == head.len() && request.fields == *fields)
    }

    /// The section as it came.
    pub(super) fn bytes(&self) -> &[u8] {
        match self.lines {
            0 => b"\r\n",
            _ => self.head.get(self.at..).unwrap_or_default(),
        }
    }
}

/// The sections of one worker's requests. All of their bytes are compared, so that nothing of one request gets into
/// another.
pub(super) struct Sections {
    places: Box<[Option<SectionSlot>; KEPT]>,
    /// How many maps all places have beyond the first of each.
    again: usize,
}

/// A section, and as many maps of its fields as are available.
struct SectionSlot {
    section: Rc<Section>,
    fields: Vec<HeaderMap>,
}

impl SectionSlot {
    fn is_of(&self, section: &Rc<Section>) -> bool {
        Rc::ptr_eq(&self.section, section) || self.section.bytes() == section.bytes()
    }
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            places: Box::new(array::from_fn(|_| None)),
            again: 0,
        }
    }
}

impl Sections {
    /// Finds the section that `bytes` begin with, and takes out its fields. Returns its length too.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<(usize, (Rc<Section>, HeaderMap))> {
        // Mostly nothing follows. Then the end need not be searched: a section that was read ends with its bytes.
        if let Some(taken) = self.take_same(bytes) {
            return Some((bytes.len(), taken));
        }
        let end = memmem::find(bytes, b"\r\n\r\n")? + 4;
        let section = bytes.get(..end).filter(|_| end < bytes.len())?;
        Some((end, self.take_same(section)?))
    }

    fn take_same(&mut self, bytes: &[u8]) -> Option<(Rc<Section>, HeaderMap)> {
        let place = self.places.get_mut(place(bytes))?.as_mut()?;
        if place.section.bytes() != bytes {
            return None;
        }
        let fields = place.fields.pop()?;
        self.again -= usize::from(!place.fields.is_empty());
        Some((place.section.clone(), fields))
    }

    /// Keeps a section, and its fields, for the next request that has it. Returns a map that is not needed any more.
    pub(super) fn keep(&mut self, section: Rc<Section>, fields: HeaderMap) -> Option<HeaderMap> {
        // Fields that are not those of the section would be another request's. A section without lines would be found
        // in any head that has come only in part.
        if section.lines == 0 || section.head.len() > LONGEST || fields.len() != section.lines {
            return Some(fields);
        }
        debug_assert!(section.says(&fields), "{:?}", section.bytes());
        let Some(there) = self.places.get_mut(section.place) else {
            return Some(fields);
        };
        match there {
            Some(place) if place.is_of(&section) => {
                let is_first = place.fields.is_empty();
                if !is_first && self.again == MOST_AGAIN {
                    return Some(fields);
                }
                self.again += usize::from(!is_first);
                place.fields.push(fields);
                None
            }
            other => {
                let fields = vec![fields];
                let mut gone = other.replace(SectionSlot { section, fields })?.fields;
                self.again -= gone.len().saturating_sub(1);
                gone.pop()
            }
        }
    }
}

/// The place of a section.
fn place(section: &[u8]) -> usize {
    (xxh3_64(section) % KEPT as u64) as usize
}

/// Splits `bytes` after the request's line, if they have a whole one.
pub(super) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(memchr::memchr(b'\n', bytes)? + 1)
}

#[cfg(test)]
mod tests;
