//! Stored header fields, packed: one allocation for all names and values of a head.
//!
//! A `HeaderMap` of ten fields costs more than a kilobyte besides its bytes. With a million stored responses, that is a
//! gigabyte. Packed, a field costs three bytes. Well-known names are one byte (an index into `names`), others are
//! spelled out. When the map is built again, its values are shared slices of the one allocation.

mod names;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use names::{KNOWN, SPELLED, code};

/// More fields than a response can have arrived with. Packed bytes with more were not written by us, and a `HeaderMap`
/// can hold only so many.
const MOST: usize = 4096;

/// Stands in place of a two-byte length when the length has four bytes, which follow.
const LONG: u16 = u16::MAX;

/// The header fields of one stored response, packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    bytes: Bytes,
}

impl Fields {
    /// Packs a map. Fields after the first 4096 are left out; no limit for origins lets so many through.
    pub fn pack(map: &HeaderMap) -> Self {
        let mut bytes = Vec::with_capacity(
            map.iter()
                .map(|(n, v)| n.as_str().len() + v.len() + 5)
                .sum(),
        );
        for (name, value) in map.iter().take(MOST) {
            if let Some(code) = code(name) {
                bytes.push(code);
            } else {
                bytes.push(SPELLED);
                push(&mut bytes, name.as_str().as_bytes());
            }
            push(&mut bytes, value.as_bytes());
        }
        Self {
            bytes: Bytes::copy_from_slice(&bytes),
        }
    }

    /// Takes fields as they were [`packed`](Self::packed). `None` if the bytes are not such fields, or a name or value
    /// is not valid for a field: whoever has `Fields` may send them as they are.
    pub(crate) fn from_packed(bytes: Bytes) -> Option<Self> {
        let fields = Self { bytes };
        let end = fields.walk().take(MOST).last();
        let end = end.map_or(0, |(_, _, end)| end);
        let is_whole = end == fields.bytes.len();
        let are_sound = is_whole && fields.walk().all(|field| fields.is_sound(field));
        are_sound.then_some(fields)
    }

    /// Whether name and value are valid for a field.
    fn is_sound(&self, (name, start, end): (Name<'_>, usize, usize)) -> bool {
        let is_name = match name {
            Name::Known(_) => true,
            // `from_lowercase` accepts `"` in a name (RFC 9110 section 5.6.2 does not).
            Name::Spelled(spelled) => HeaderName::from_bytes(spelled)
                .is_ok_and(|name| name.as_str().as_bytes() == spelled),
        };
        is_name && HeaderValue::from_maybe_shared(self.bytes.slice(start..end)).is_ok()
    }

    /// The packed bytes, for tiers below memory.
    pub(crate) fn packed(&self) -> &[u8] {
        &self.bytes
    }

    /// Builds the map again, with room for `more` fields. Values share the packed bytes.
    pub fn unpack(&self, more: usize) -> HeaderMap {
        let mut map = HeaderMap::with_capacity(self.count() + more);
        for (name, start, end) in self.walk() {
            let Ok(value) = HeaderValue::from_maybe_shared(self.bytes.slice(start..end)) else {
                continue;
            };
            match name {
                Name::Known(known) => map.append(known, value),
                Name::Spelled(spelled) => match HeaderName::from_bytes(spelled) {
                    Ok(name) => map.append(name, value),
                    Err(_) => continue,
                },
            };
        }
        map
    }

    /// The first value of `name`.
    pub fn get(&self, name: &HeaderName) -> Option<HeaderValue> {
        let (_, start, end) = self.walk().find(|(found, ..)| found.is(name))?;
        HeaderValue::from_maybe_shared(self.bytes.slice(start..end)).ok()
    }

    /// The first value of `name`, as borrowed bytes.
    pub fn get_bytes(&self, name: &HeaderName) -> Option<&[u8]> {
        let (_, start, end) = self.walk().find(|(found, ..)| found.is(name))?;
        self.bytes.get(start..end)
    }

    /// The names, in lower case, and values, one item for each line.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let value = |start, end| self.bytes.get(start..end).unwrap_or_default();
        self.walk().map(move |(name, start, end)| match name {
            Name::Known(known) => (known.as_str().as_bytes(), value(start, end)),
            Name::Spelled(spelled) => (spelled, value(start, end)),
        })
    }

    /// Returns the same fields and `body` in one allocation, so that what a hit reads lies together.
    pub(crate) fn beside(&self, body: &[u8]) -> (Self, Bytes) {
        let mut all = Vec::with_capacity(self.bytes.len() + body.len());
        all.extend_from_slice(&self.bytes);
        all.extend_from_slice(body);
        let mut head = Bytes::from(all);
        let body = head.split_off(self.bytes.len());
        (Self { bytes: head }, body)
    }

    /// Returns the same fields in an allocation of their own.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(&self.bytes),
        }
    }

    /// The number of packed bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no field at all.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn count(&self) -> usize {
        self.walk().count()
    }

    fn walk(&self) -> Walk<'_> {
        Walk {
            bytes: &self.bytes,
            at: 0,
        }
    }
}

/// Adds `what`, preceded by its length: two bytes, or [`LONG`] and four.
fn push(bytes: &mut Vec<u8>, what: &[u8]) {
    match u16::try_from(what.len()) {
        Ok(length) if length != LONG => bytes.extend_from_slice(&length.to_be_bytes()),
        _ => {
            // No head is as long as four bytes can express.
            let length = u32::try_from(what.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&LONG.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
        }
    }
    bytes.extend_from_slice(what);
}

/// A field's name as stored.
enum Name<'a> {
    Known(&'static HeaderName),
    Spelled(&'a [u8]),
}

impl Name<'_> {
    fn is(&self, name: &HeaderName) -> bool {
        match self {
            Self::Known(known) => *known == name,
            Self::Spelled(spelled) => *spelled == name.as_str().as_bytes(),
        }
    }
}

/// Steps through packed fields: name, and start and end of the value. Ends early at bytes that are not valid.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn length(&mut self) -> Option<usize> {
        let [high, low] = *self.take(2)? else {
            return None;
        };
        match u16::from_be_bytes([high, low]) {
            LONG => {
                let length = *self.take(4)?.first_chunk()?;
                usize::try_from(u32::from_be_bytes(length)).ok()
            }
            length => Some(usize::from(length)),
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = (Name<'a>, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let [code] = *self.take(1)? else { return None };
        let name = if code == SPELLED {
            let length = self.length()?;
            Name::Spelled(self.take(length)?)
        } else {
            Name::Known(KNOWN.get(usize::from(code) - 1)?)
        };
        let length = self.length()?;
        let start = self.at;
        self.take(length)?;
        Some((name, start, self.at))
    }
}
