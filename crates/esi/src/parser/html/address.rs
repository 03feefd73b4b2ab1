//! Tracks where in an address a value stands.

use super::{Html, State, is_blank};
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

/// How many addresses the value of an attribute may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Addresses {
    #[default]
    One,
    List,
}

impl Addresses {
    pub(super) fn of(attribute: &[u8]) -> Self {
        match attribute {
            b"srcset" | b"imagesrcset" | b"ping" => Self::List,
            _ => Self::One,
        }
    }
}

impl Html {
    /// Places a value inside an attribute's value. Returns its place.
    pub(super) fn in_value(&mut self) -> EscapeContext {
        let place = self.place;
        match place {
            EscapeContext::Address(Part::Start) => {
                self.place = EscapeContext::Address(Part::Scheme);
            }
            EscapeContext::Address(Part::Host) => {
                self.place = EscapeContext::Address(Part::Path);
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
        let is_list = self.addresses == Addresses::List;
        let part = match (part, byte) {
            // Another address begins, or what describes this one. A value there is not the beginning of an address: it
            // may belong to either.
            (Part::Start | Part::Scheme, b',') if is_list => self.begin_scheme(),
            (Part::Path, b',') if is_list => Part::Host,
            (part, _) if is_list && is_blank(byte) && has_begun(part) => self.begin_scheme(),
            // Browsers drop these everywhere.
            (part, b'\t' | b'\n' | b'\r') => part,
            (Part::Start, ..=b' ') => Part::Start,
            (Part::Code | Part::Any, _) => part,
            // A character reference, which may stand for any character of a scheme that is code.
            (Part::Start | Part::Scheme, b'&') => Part::Code,
            // It may stand for another slash, or for nothing.
            (Part::Host, b'&') => Part::Any,
            (_, b'#') | (Part::Fragment, _) => Part::Fragment,
            (Part::Start | Part::Scheme | Part::Host | Part::Path, b'?')
            | (Part::Parameters | Part::Parameter, b'&' | b';') => Part::Parameters,
            (Part::Scheme, b':') if self.is_code() => Part::Code,
            (Part::Scheme, b':') | (Part::Start | Part::Host, b'/' | b'\\') => Part::Host,
            (Part::Scheme, b'/' | b'\\') if self.name.is_empty() => Part::Host,
            (Part::Start | Part::Scheme, _) if is_in_schemes(byte) => {
                self.more(State::Text, byte);
                Part::Scheme
            }
            (Part::Start | Part::Scheme | Part::Host | Part::Path, _) => Part::Path,
            (Part::Parameters | Part::Parameter, _) => Part::Parameter,
        };
        self.place = EscapeContext::Address(part);
    }

    fn begin_scheme(&mut self) -> Part {
        self.name.clear();
        Part::Scheme
    }

    /// Whether the scheme that was read is code.
    fn is_code(&self) -> bool {
        CODE_SCHEMES
            .iter()
            .any(|scheme| scheme.as_bytes() == self.name)
    }
}

/// Whether there is text of an address before this part, and the part can end.
const fn has_begun(part: Part) -> bool {
    !matches!(part, Part::Start | Part::Code | Part::Any)
}

/// Whether a scheme may contain the byte (RFC 3986 section 3.1).
const fn is_in_schemes(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}
