//! Tracks where in an address a value stands.

use super::{Html, State};
use crate::escape::{CODE_SCHEMES, EscapeContext, Part};

/// Attributes whose value is an address.
pub(super) const ADDRESSES: [&[u8]; 14] = [
    b"href",
    b"src",
    b"action",
    b"formaction",
    b"poster",
    b"cite",
    b"data",
    b"background",
    b"manifest",
    b"ping",
    b"longdesc",
    b"srcset",
    b"imagesrcset",
    b"xlink:href",
];

impl Html {
    /// Places a value inside an attribute's value. Returns its place.
    pub(super) fn in_value(&mut self) -> EscapeContext {
        let place = self.place;
        match place {
            EscapeContext::Address(Part::Start) => {
                self.place = EscapeContext::Address(Part::Scheme);
            }
            EscapeContext::Address(Part::Parameters) => {
                self.place = EscapeContext::Address(Part::Parameter);
            }
            EscapeContext::Document => return self.in_document(),
            _ => {}
        }
        place
    }

    /// Reads the next byte of an address, in this part of it.
    pub(super) fn address(&mut self, part: Part, byte: u8) {
        let part = match (part, byte) {
            // Browsers drop these everywhere.
            (part, b'\t' | b'\n' | b'\r') => part,
            (Part::Start, ..=b' ') => Part::Start,
            (Part::Code | Part::Any, _) => part,
            // A character reference, which may stand for any character of a scheme that is code.
            (Part::Start | Part::Scheme, b'&') => Part::Code,
            (_, b'#') | (Part::Fragment, _) => Part::Fragment,
            (Part::Start | Part::Scheme | Part::Path, b'?')
            | (Part::Parameters | Part::Parameter, b'&' | b';') => Part::Parameters,
            (Part::Scheme, b':') if self.is_code() => Part::Code,
            (Part::Start | Part::Scheme, _) if is_in_schemes(byte) => {
                self.more(State::Text, byte);
                Part::Scheme
            }
            (Part::Start | Part::Scheme | Part::Path, _) => Part::Path,
            (Part::Parameters | Part::Parameter, _) => Part::Parameter,
        };
        self.place = EscapeContext::Address(part);
    }

    /// Whether the scheme that was read is code.
    fn is_code(&self) -> bool {
        CODE_SCHEMES
            .iter()
            .any(|scheme| scheme.as_bytes() == self.name)
    }
}

/// Whether a scheme may contain the byte (RFC 3986 section 3.1).
const fn is_in_schemes(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}
