//! The fields of a form.

use super::{Coding, form_tag};
use crate::fields::DIGESTS;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, VARY},
};

/// How a form was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormProvenance {
    /// As a whole, of this length. The `hash` differs if the bytes differ.
    Whole {
        /// Its length in bytes.
        length: u64,
        /// The hash of its bytes.
        hash: u64,
    },
    /// As a stream, for one client or a few. Its bytes may differ if it is made again.
    Streamed,
}

/// Turns the fields of an origin's response into those of a form of it: in `coding`, or decoded if that is `None`.
///
/// A strong validator must differ between codings (RFC 9110 section 8.8.3.3), and also between two results of the same
/// coding. So the tag names the coding and the bytes. A streamed form gets a weak tag, and no range of it can be
/// requested.
pub fn describe(fields: &mut HeaderMap, coding: Option<Coding>, made: FormProvenance) {
    match coding {
        Some(coding) => {
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.token()));
        }
        None => {
            fields.remove(CONTENT_ENCODING);
        }
    }
    if let Some(tag) = fields.get(ETAG).and_then(|tag| form_tag(tag, coding, made)) {
        fields.insert(ETAG, tag);
    }
    match made {
        FormProvenance::Whole { length, .. } => {
            fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        FormProvenance::Streamed => {
            fields.remove(CONTENT_LENGTH);
            fields.remove(ACCEPT_RANGES);
        }
    }
    // They are those of the origin's own content.
    for name in &DIGESTS {
        fields.remove(name);
    }
    vary_by_coding(fields);
}

/// Copies what the stored `form` says about the content into `fields`, which a response has for one client.
pub fn describe_as(fields: &mut HeaderMap, form: impl Fn(&HeaderName) -> Option<HeaderValue>) {
    let of_content = [CONTENT_ENCODING, CONTENT_LENGTH, ETAG];
    for name in of_content.iter().chain(&DIGESTS) {
        match form(name) {
            Some(value) => fields.insert(name, value),
            None => fields.remove(name),
        };
    }
    vary_by_coding(fields);
}

/// Adds `Accept-Encoding` to `Vary`, unless `Vary` has it or `*` (RFC 9110 section 12.5.5).
pub fn vary_by_coding(fields: &mut HeaderMap) {
    if !varies_by_coding(fields) {
        fields.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// Whether `Vary` has `Accept-Encoding` or `*`.
pub fn varies_by_coding(fields: &HeaderMap) -> bool {
    let is_it = |member: &[u8]| {
        let member = member.trim_ascii();
        member == b"*" || member.eq_ignore_ascii_case(ACCEPT_ENCODING.as_str().as_bytes())
    };
    // Mostly it is the only member.
    let says_it = |line: &HeaderValue| {
        let line = line.as_bytes();
        is_it(line) || line.split(|byte| *byte == b',').any(is_it)
    };
    fields.get_all(VARY).iter().any(says_it)
}
