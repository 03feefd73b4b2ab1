//! Tracks where in the document of `srcdoc` a value stands.

use super::{Html, LONGEST, State};
use crate::escape::{EscapeContext, Part};

/// The references by which people write markup in an attribute.
const REFERENCES: [(&[u8], u8); 9] = [
    (b"&lt", b'<'),
    (b"&gt", b'>'),
    (b"&amp", b'&'),
    (b"&quot", b'"'),
    (b"&#34", b'"'),
    (b"&apos", b'\''),
    (b"&#39", b'\''),
    (b"&#039", b'\''),
    (b"&#x27", b'\''),
];

impl Html {
    /// A document in an attribute. What is in turn a document there is not followed: how deep that goes is up to the
    /// page.
    pub(super) fn within(&self) -> Option<Box<Self>> {
        (!self.is_within).then(|| {
            Box::new(Self {
                is_within: true,
                ..Self::default()
            })
        })
    }

    /// Places a value in the document. Returns its place.
    pub(super) fn in_document(&mut self) -> EscapeContext {
        let Some(document) = self.document.as_mut().filter(|_| self.name.is_empty()) else {
            return EscapeContext::Nothing;
        };
        match document.value() {
            EscapeContext::Text => EscapeContext::Document,
            // The forms of these are the same within an attribute, as long as no variable stays as it is.
            EscapeContext::Address(Part::Code) => EscapeContext::Address(Part::Code),
            EscapeContext::Address(_) => EscapeContext::Address(Part::Any),
            place @ (EscapeContext::Script | EscapeContext::Style | EscapeContext::StyleSlash) => {
                place
            }
            EscapeContext::Document | EscapeContext::Name | EscapeContext::Nothing => {
                EscapeContext::Nothing
            }
        }
    }

    /// Reads the next byte of the document, in which the name keeps a reference.
    pub(super) fn document(&mut self, byte: u8) {
        let Some(document) = &mut self.document else {
            return;
        };
        let read = match (self.name.is_empty(), byte) {
            (true, b'&') => None,
            (true, _) => Some(byte),
            (false, b';') => {
                let known = REFERENCES.iter().find(|(known, _)| *known == self.name);
                self.name.clear();
                if known.is_none() {
                    document.state = State::Lost;
                }
                known.map(|(_, letter)| *letter)
            }
            (false, _) => {
                if self.name.len() > LONGEST || !(byte.is_ascii_alphanumeric() || byte == b'#') {
                    document.state = State::Lost;
                }
                None
            }
        };
        match read {
            Some(byte) => document.text(&[byte]),
            None if byte != b';' && document.state != State::Lost => self.name.push(byte),
            None => self.name.clear(),
        }
        if document.is_forked {
            document.state = State::Lost;
        }
    }
}
