//! Labels: what purges are compared with for a record. They are kept apart from it, so that all labels can be read
//! without the records.
//!
//! All numbers are little-endian. Everything that has a length or a count is preceded by it (`u32`):
//!
//! ```text
//! u32 unit | u64 checked | key | content type | tags
//! ```

use super::{
    Malformed,
    bytes::{In, Out},
    view::View,
};
use crate::{
    Fields, Stored,
    purge::{Label, Marks},
};
use bytes::Bytes;
use http::header;

/// Bytes of room for everything in a label but its texts.
const NUMBERS: usize = 32;

/// The label of a record that holds `stored`, kept under `key` and checked up to `checked`, without its unit. `None` if
/// something is too long to be written.
pub(crate) fn of(key: &[u8], stored: &Stored, checked: u64) -> Option<Vec<u8>> {
    let content_type = stored.fields.get_bytes(&header::CONTENT_TYPE);
    let tags = stored.marks.as_deref();
    write(&Label {
        key,
        checked,
        content_type: content_type.unwrap_or_default(),
        tags: tags.into_iter().flat_map(Marks::texts).collect(),
    })
}

/// The label of a record with this head, without its unit; `None` if this is not a head.
pub(crate) fn of_head(head: &[u8]) -> Option<Vec<u8>> {
    let view = View::parse(head).ok()?;
    let fields = Fields::from_packed(Bytes::copy_from_slice(view.fields))?;
    let content_type = fields.get_bytes(&header::CONTENT_TYPE);
    write(&Label {
        key: view.key,
        checked: view.checked,
        content_type: content_type.unwrap_or_default(),
        tags: view.tags,
    })
}

/// Adds the label of the record that begins at `unit` to `labels`.
pub fn add(labels: &mut Vec<u8>, unit: u32, label: &[u8]) {
    labels.extend_from_slice(&unit.to_le_bytes());
    labels.extend_from_slice(label);
}

/// The number of bytes that [`add`] adds.
pub(crate) const fn length(label: &[u8]) -> usize {
    size_of::<u32>() + label.len()
}

/// Returns `label` as bytes, without the unit of its record. `None` if something is too long to be written.
pub fn write(label: &Label<'_>) -> Option<Vec<u8>> {
    let mut out = Out::with_capacity(NUMBERS + label.key.len() + label.content_type.len());
    out.u64(label.checked);
    out.run(label.key)?;
    out.run(label.content_type)?;
    out.count(label.tags.len())?;
    for tag in &label.tags {
        out.run(tag.as_bytes())?;
    }
    Some(out.done())
}

/// Reads the label that `bytes` begin with. Returns the unit of its record, the label, and what follows.
///
/// # Errors
/// The bytes do not begin with a label.
pub fn read(bytes: &[u8]) -> Result<(u32, Label<'_>, &[u8]), Malformed> {
    let mut from = In(bytes);
    let (unit, checked) = (from.u32()?, from.u64()?);
    let (key, content_type) = (from.run()?, from.run()?);
    let tags = (0..from.count(4)?)
        .map(|_| std::str::from_utf8(from.run()?).map_err(|_| Malformed))
        .collect::<Result<_, _>>()?;
    let label = Label {
        key,
        checked,
        content_type,
        tags,
    };
    Ok((unit, label, from.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_come_back_one_after_the_other(
            labels in prop::collection::vec((any::<u32>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(".{0,9}", 0..5)), 0..9),
        ) {
            let mut bytes = Vec::new();
            for (unit, checked, key, tags) in &labels {
                let label = Label { key, checked: *checked, content_type: b"text/html", tags: tags.iter().map(String::as_str).collect() };
                add(&mut bytes, *unit, &write(&label).expect("short"));
            }
            let mut rest = bytes.as_slice();
            for (unit, checked, key, tags) in &labels {
                let (at, label, more) = read(rest).expect("written");
                prop_assert_eq!((at, label.checked, label.key), (*unit, *checked, key.as_slice()));
                prop_assert_eq!(&label.tags, tags);
                rest = more;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn whatever_the_bytes_nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = bytes.as_slice();
            while let Ok((_, _, more)) = read(rest) {
                prop_assert!(more.len() < rest.len());
                rest = more;
            }
        }
    }
}
