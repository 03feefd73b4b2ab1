//! Tracks where in HTML or XML a value stands: in text, in which attribute, in a script, in a style.

mod address;

use super::Raw;
use crate::escape::{EscapeContext, Part};
use address::ADDRESSES;
use memchr::memchr;

/// The length of the longest name that is distinguished from others, in bytes.
const LONGEST: usize = 16;

/// The state of the page's markup, from its own text that is sent, piece by piece.
#[derive(Clone, Debug, Default)]
pub(super) struct Html {
    state: State,
    /// The name of an element, an attribute or a scheme that is being read or was read last: in lower case, as much of
    /// it as matters.
    name: Vec<u8>,
    /// The content of the open element, if it is not markup.
    element: Option<Raw>,
    /// The place inside the attribute's value.
    place: EscapeContext,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After `<`.
    Open,
    /// In an end tag, a declaration or an instruction.
    Closing,
    /// In the name of an element.
    Element,
    /// Before an attribute.
    Blank,
    /// In the name of an attribute.
    Attribute,
    /// After the name of an attribute.
    Named,
    /// After its `=`.
    Equals,
    /// In its value, which ends at this quote.
    Value(Option<u8>),
    /// In a script or a style.
    Raw(Raw),
    /// In what may be its end; this many bytes have come after `<`.
    RawEnd(Raw, usize),
}

impl Html {
    /// Reads the next text of the page.
    pub(super) fn text(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            if byte != b'<' && matches!(self.state, State::Text | State::Raw(_)) {
                rest = memchr(b'<', rest)
                    .and_then(|at| rest.get(at..))
                    .unwrap_or_default();
                continue;
            }
            self.byte(byte);
            rest = after;
        }
    }

    /// Places a value here. Returns its place.
    pub(super) fn value(&mut self) -> EscapeContext {
        match self.state {
            State::Raw(raw) | State::RawEnd(raw, _) => match raw {
                Raw::Script => EscapeContext::Script,
                Raw::Style => EscapeContext::Style,
            },
            State::Equals => {
                self.begin_value(None);
                self.in_value()
            }
            State::Value(_) => self.in_value(),
            // The escaping of text is the only one that is harmless in names too.
            _ => EscapeContext::Text,
        }
    }

    /// Whether text that follows is read as it is after `other`.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_like = match self.state {
            State::Text | State::Open | State::Closing | State::Raw(_) | State::RawEnd(..) => {
                return self.state == other.state;
            }
            State::Blank => true,
            State::Element | State::Attribute | State::Named | State::Equals => {
                self.name == other.name
            }
            State::Value(_) => {
                let is_scheme = matches!(self.place, EscapeContext::Address(Part::Scheme));
                self.place == other.place && (!is_scheme || self.name == other.name)
            }
        };
        is_like && self.state == other.state && self.element == other.element
    }

    fn byte(&mut self, byte: u8) {
        self.state = match self.state {
            State::Text if byte == b'<' => State::Open,
            State::Text => State::Text,
            State::Open => match byte {
                b'<' => State::Open,
                b'/' | b'!' | b'?' => State::Closing,
                letter if letter.is_ascii_alphabetic() => self.named(State::Element, byte),
                _ => State::Text,
            },
            State::Closing if byte == b'>' => State::Text,
            State::Closing => State::Closing,
            State::Element => self.in_element(byte),
            State::Blank | State::Attribute | State::Named => self.in_attribute(byte),
            State::Equals => match byte {
                b'>' => self.after_name(byte),
                b'"' | b'\'' => self.begin_value(Some(byte)),
                _ if is_blank(byte) => State::Equals,
                _ => {
                    let state = self.begin_value(None);
                    self.address(byte);
                    state
                }
            },
            State::Value(quote) => match (quote, byte) {
                (None, b'>') => self.after_name(byte),
                (None, _) if is_blank(byte) => State::Blank,
                (Some(quote), _) if byte == quote => State::Blank,
                _ => {
                    self.address(byte);
                    self.state
                }
            },
            State::Raw(raw) if byte == b'<' => State::RawEnd(raw, 0),
            State::Raw(raw) => State::Raw(raw),
            State::RawEnd(raw, at) => raw_end(raw, at, byte),
        };
    }

    fn in_element(&mut self, byte: u8) -> State {
        if !is_blank(byte) && !matches!(byte, b'>' | b'/') {
            return self.more(State::Element, byte);
        }
        self.element = match self.name.as_slice() {
            b"script" => Some(Raw::Script),
            b"style" => Some(Raw::Style),
            _ => None,
        };
        self.after_name(byte)
    }

    /// Reads a byte before an attribute, in its name, or after it.
    fn in_attribute(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (_, b'>' | b'/') => self.after_name(byte),
            (State::Blank, _) if is_blank(byte) => State::Blank,
            (_, _) if is_blank(byte) => State::Named,
            (State::Attribute | State::Named, b'=') => State::Equals,
            (State::Attribute, _) => self.more(State::Attribute, byte),
            _ => self.named(State::Attribute, byte),
        }
    }

    /// The state after the name of an element or an attribute, or after a value without quotes.
    fn after_name(&self, byte: u8) -> State {
        match (byte, self.element) {
            (b'>', Some(raw)) => State::Raw(raw),
            (b'>', None) => State::Text,
            _ => State::Blank,
        }
    }

    fn named(&mut self, state: State, byte: u8) -> State {
        self.name.clear();
        self.more(state, byte)
    }

    fn more(&mut self, state: State, byte: u8) -> State {
        // A longer name is none of ours, and stays longer.
        if self.name.len() <= LONGEST {
            self.name.push(byte.to_ascii_lowercase());
        }
        state
    }

    fn begin_value(&mut self, quote: Option<u8>) -> State {
        self.place = match self.name.as_slice() {
            b"style" => EscapeContext::Style,
            b"srcdoc" => EscapeContext::Document,
            [b'o', b'n', ..] => EscapeContext::Script,
            name if ADDRESSES.contains(&name) => EscapeContext::Address(Part::Start),
            _ => EscapeContext::Text,
        };
        self.name.clear();
        self.state = State::Value(quote);
        self.state
    }
}

/// Reads one more byte of what may end a script or a style.
fn raw_end(raw: Raw, at: usize, byte: u8) -> State {
    let end: &[u8] = match raw {
        Raw::Script => b"/script",
        Raw::Style => b"/style",
    };
    match end.get(at) {
        Some(expected) if byte.eq_ignore_ascii_case(expected) => State::RawEnd(raw, at + 1),
        None if byte == b'>' => State::Text,
        None if is_blank(byte) || byte == b'/' => State::Closing,
        _ if byte == b'<' => State::RawEnd(raw, 0),
        _ => State::Raw(raw),
    }
}

/// Whether HTML takes the byte for white space.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}
