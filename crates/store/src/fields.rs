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
use names::{KNOWN, Known, SPELLED, code};

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
        let mut walk = fields.walk();
        let are_sound = (&mut walk).take(MOST).all(|field| fields.is_sound(&field));
        let are_sound = are_sound && walk.rest.is_empty();
        are_sound.then_some(fields)
    }

    /// Whether name and value are valid for a field.
    fn is_sound(&self, (name, value): &(Name<'_>, &[u8])) -> bool {
        let is_name = match name {
            Name::Known(_) => true,
            // `from_lowercase` accepts `"` in a name (RFC 9110 section 5.6.2 does not).
            Name::Spelled(spelled) => HeaderName::from_bytes(spelled)
                .is_ok_and(|name| name.as_str().as_bytes() == *spelled),
        };
        is_name && self.value(value).is_some()
    }

    /// The packed bytes, for tiers below memory.
    pub(crate) fn packed(&self) -> &[u8] {
        &self.bytes
    }

    /// Builds the map again, with room for `more` fields. Values share the packed bytes.
    pub fn unpack(&self, more: usize) -> HeaderMap {
        let mut map = HeaderMap::with_capacity(self.count() + more);
        for (name, value) in self.walk() {
            let Some(value) = self.value(value) else {
                continue;
            };
            match name {
                Name::Known(known) => map.append(&known.name, value),
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
        self.value(self.get_bytes(name)?)
    }

    /// The first value of `name`, as borrowed bytes.
    pub fn get_bytes(&self, name: &HeaderName) -> Option<&[u8]> {
        let (_, value) = self.walk().find(|(found, _)| found.is(name))?;
        Some(value)
    }

    /// Whether one of `names` is there.
    #[inline]
    pub fn has_any(&self, names: &[HeaderName]) -> bool {
        self.walk()
            .any(|(found, _)| names.iter().any(|name| found.is(name)))
    }

    /// The names, in lower case, and values, one item for each line.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.walk().map(|(name, value)| match name {
            Name::Known(known) => (known.text.as_bytes(), value),
            Name::Spelled(spelled) => (spelled, value),
        })
    }

    /// `value`, which is a part of the packed bytes, as a value that shares them.
    fn value(&self, value: &[u8]) -> Option<HeaderValue> {
        HeaderValue::from_maybe_shared(self.bytes.slice_ref(value)).ok()
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
        Walk { rest: &self.bytes }
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
    Known(&'static Known),
    Spelled(&'a [u8]),
}

impl Name<'_> {
    #[inline]
    fn is(&self, name: &HeaderName) -> bool {
        match self {
            Self::Known(known) => known.name == name,
            Self::Spelled(spelled) => *spelled == name.as_str().as_bytes(),
        }
    }
}

/// Steps through packed fields: name and value. Ends early at bytes that are not valid.
struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Walk<'a> {
    type Item = (Name<'a>, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (code, rest) = self.rest.split_first()?;
        let (name, rest) = match *code {
            SPELLED => {
                let (spelled, rest) = take(rest)?;
                (Name::Spelled(spelled), rest)
            }
            code => (Name::Known(KNOWN.get(usize::from(code) - 1)?), rest),
        };
        let (value, rest) = take(rest)?;
        self.rest = rest;
        Some((name, value))
    }
}

/// Splits off what was [`push`]ed at the beginning of `bytes`.
#[inline]
fn take(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    match u16::from_be_bytes(*length) {
        LONG => take_long(rest),
        length => rest.split_at_checked(usize::from(length)),
    }
}

#[cold]
fn take_long(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    rest.split_at_checked(length)
}
