//! Tracks where in HTML or XML a value stands: in text, in which attribute, in a script, in a style.

mod address;
mod comment;
mod document;
mod raw;

use crate::escape::{EscapeContext, Part};
use address::{ADDRESSES, Addresses};
use comment::Comment;
use memchr::memchr;
use raw::{Raw, Script};

/// The length of the longest name that is distinguished from others, in bytes.
const LONGEST: usize = 16;

/// Begins the name of an attribute that has a value in it. Hardly any of the page's own does.
const UNKNOWN: u8 = b'=';

/// The state of the page's markup, from its own text that is sent, piece by piece.
#[derive(Clone, Debug, Default)]
pub(super) struct Html {
    state: State,
    /// The name of an element, an attribute or a scheme that is being read or was read last, or what followed `<` in an
    /// element whose content is not markup: in lower case, as much of it as matters.
    name: Vec<u8>,
    /// The content of the open element, if it is not markup.
    element: Option<Raw>,
    /// Whether some read what follows as markup: see [`Html::other`].
    is_forked: bool,
    /// Whether this is the less likely reading.
    pub(super) is_aside: bool,
    /// The place inside the attribute's value.
    place: EscapeContext,
    /// How many addresses the value may be, if its place is in one.
    addresses: Addresses,
    /// The last byte, unless a value came after it.
    last: u8,
    /// The document that is the attribute's value.
    document: Option<Box<Html>>,
    /// Whether this is such a document.
    is_within: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After `<`.
    Open,
    /// After `</`.
    OpenEnd,
    /// After `<!`, and the beginning of a comment or of `CDATA` is in the name.
    Declared,
    /// In a declaration, an instruction or what browsers read like one.
    Closing,
    Comment(Comment),
    /// In `<![CDATA[`.
    Verbatim {
        /// How many of `]]` the last bytes are.
        brackets: u8,
        /// Whether a `>` came, which ends it for browsers.
        is_ended: bool,
    },
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
    /// In an element whose content is not markup.
    Raw(Raw),
    /// In what may be its end, after `<`.
    RawOpen(Raw),
    /// After this many hyphens of what may be the end of a comment in a script.
    RawHyphens(Script, u8),
    /// In a document that is not understood.
    Lost,
}

impl Html {
    /// Reads the next text of the page: up to its end or the first `>`.
    pub(super) fn text(&mut self, text: &[u8]) {
        // Browsers drop the others in an address.
        let mut counting = text.iter().rev();
        if let Some(byte) = counting.find(|byte| !matches!(byte, b'\t' | b'\n' | b'\r')) {
            self.last = *byte;
        }
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            let mark = match self.state {
                State::Text
                | State::Raw(Raw::Style | Raw::Text(_) | Raw::Script(Script::Plain)) => b'<',
                State::Comment(Comment::Inside) => b'-',
                _ => byte,
            };
            if byte != mark {
                rest = memchr(mark, rest)
                    .and_then(|at| rest.get(at..))
                    .unwrap_or_default();
                continue;
            }
            self.byte(byte);
            rest = after;
        }
    }

    /// The other reading of what follows, if there is one since the last byte. Ask for it after each `>`.
    ///
    /// The content of `<title>` is text, but not in SVG; that of `<noscript>` is text for browsers that run scripts; and
    /// only in XML does `CDATA` not end with the first `>`.
    pub(super) fn other(&mut self) -> Option<Self> {
        std::mem::take(&mut self.is_forked).then(|| Self {
            state: State::Text,
            is_aside: true,
            ..self.clone()
        })
    }

    /// Whether `<!--` begins a comment here.
    pub(super) const fn is_markup(&self) -> bool {
        matches!(self.state, State::Text | State::Open)
    }

    /// Whether the value of an attribute begins here, unless a blank comes before it.
    pub(super) const fn is_before_value(&self) -> bool {
        matches!(self.state, State::Equals)
    }

    /// Whether this is within a comment or `CDATA`.
    pub(super) const fn is_skipped(&self) -> bool {
        matches!(self.state, State::Comment(_) | State::Verbatim { .. })
    }

    /// Places a value here. Returns its place.
    pub(super) fn value(&mut self) -> EscapeContext {
        let is_behind_slash = self.is_behind_slash();
        self.last = 0;
        match self.place_value() {
            EscapeContext::Style if is_behind_slash => EscapeContext::StyleSlash,
            place => place,
        }
    }

    /// Whether the last byte is a slash or a backslash, or may be one that is written as a reference.
    const fn is_behind_slash(&self) -> bool {
        matches!(self.last, b'/' | b'\\' | b';')
    }

    fn place_value(&mut self) -> EscapeContext {
        match self.state {
            State::Text | State::Closing => EscapeContext::Text,
            State::Raw(raw) => raw.place(),
            State::RawHyphens(script, _) => {
                // A value that is not empty parts them from what follows.
                self.state = State::Raw(Raw::Script(script));
                EscapeContext::Script
            }
            State::RawOpen(raw @ (Raw::Script(Script::Plain) | Raw::Style))
                if self.name.is_empty() =>
            {
                self.state = State::Raw(raw);
                raw.place()
            }
            State::Blank | State::Attribute | State::Named => {
                // Now nobody knows the name of the attribute.
                self.state = self.named(State::Attribute, UNKNOWN);
                EscapeContext::Name
            }
            State::Equals => {
                self.begin_value(None);
                self.in_value()
            }
            State::Value(_) => self.in_value(),
            State::Comment(Comment::Inside) | State::Verbatim { brackets: 0, .. } => {
                EscapeContext::Script
            }
            // It could name an element, or end a comment.
            State::Open
            | State::OpenEnd
            | State::Element
            | State::Declared
            | State::RawOpen(_)
            | State::Comment(_)
            | State::Verbatim { .. }
            | State::Lost => EscapeContext::Nothing,
        }
    }

    /// Whether text that follows is read as it is after `other`.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_like = match self.state {
            State::Raw(Raw::Style) => {
                return self.state == other.state
                    && self.is_behind_slash() == other.is_behind_slash();
            }
            State::Text
            | State::Open
            | State::OpenEnd
            | State::Closing
            | State::Comment(_)
            | State::Verbatim { .. }
            | State::Raw(_)
            | State::RawHyphens(..)
            | State::Lost => return self.state == other.state,
            State::Declared | State::RawOpen(_) => {
                return self.state == other.state && self.name == other.name;
            }
            State::Blank => true,
            State::Element | State::Attribute | State::Named | State::Equals => {
                self.name == other.name
            }
            State::Value(_) => {
                let is_alike = match self.place {
                    EscapeContext::Address(part) => {
                        self.addresses == other.addresses
                            && (part != Part::Scheme || self.name == other.name)
                    }
                    EscapeContext::Style => self.is_behind_slash() == other.is_behind_slash(),
                    EscapeContext::Document => {
                        let documents = self.document.iter().zip(&other.document);
                        self.name == other.name
                            && self.document.is_some() == other.document.is_some()
                            && documents.into_iter().all(|(one, other)| one.is_like(other))
                    }
                    _ => true,
                };
                self.place == other.place && is_alike
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
                b'/' => State::OpenEnd,
                b'!' => {
                    self.name.clear();
                    State::Declared
                }
                b'?' => State::Closing,
                letter if letter.is_ascii_alphabetic() => self.named(State::Element, byte),
                _ => State::Text,
            },
            State::OpenEnd if byte.is_ascii_alphabetic() => {
                // With this the name is that of no element.
                self.named(State::Element, b'/');
                self.more(State::Element, byte)
            }
            State::OpenEnd | State::Closing => closing(byte),
            State::Declared => self.in_declaration(byte),
            State::Comment(comment) => comment.next(byte),
            State::Verbatim { brackets, is_ended } => self.in_verbatim(brackets, is_ended, byte),
            State::Element => self.in_element(byte),
            State::Blank | State::Attribute | State::Named => self.in_attribute(byte),
            State::Equals => match byte {
                b'>' => self.after_name(byte),
                b'"' | b'\'' => self.begin_value(Some(byte)),
                _ if is_blank(byte) => State::Equals,
                _ => {
                    let state = self.begin_value(None);
                    self.inside(byte);
                    state
                }
            },
            State::Value(quote) => match (quote, byte) {
                (None, b'>') => self.after_name(byte),
                (None, _) if is_blank(byte) => State::Blank,
                (Some(quote), _) if byte == quote => State::Blank,
                _ => {
                    self.inside(byte);
                    self.state
                }
            },
            State::Raw(raw) => self.in_raw(raw, byte),
            State::RawOpen(raw) => self.in_raw_tag(raw, byte),
            State::Lost => State::Lost,
            State::RawHyphens(script, hyphens) => self.after_hyphens(script, hyphens, byte),
        };
    }

    fn in_element(&mut self, byte: u8) -> State {
        if !is_blank(byte) && !matches!(byte, b'>' | b'/') {
            return self.more(State::Element, byte);
        }
        self.element = Raw::named(&self.name);
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
    fn after_name(&mut self, byte: u8) -> State {
        match (byte, self.element) {
            (b'>', Some(raw)) => {
                self.is_forked = matches!(raw, Raw::Text(_));
                State::Raw(raw)
            }
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
            [UNKNOWN, ..] => EscapeContext::Address(Part::Code),
            b"style" => EscapeContext::Style,
            b"srcdoc" => EscapeContext::Document,
            [b'o', b'n', ..] => EscapeContext::Script,
            name if ADDRESSES.contains(&name) => EscapeContext::Address(Part::Start),
            _ => EscapeContext::Text,
        };
        self.addresses = Addresses::of(&self.name);
        self.name.clear();
        self.document = match self.place {
            EscapeContext::Document => self.within(),
            _ => None,
        };
        self.state = State::Value(quote);
        self.state
    }

    /// Reads the next byte of a value.
    fn inside(&mut self, byte: u8) {
        match self.place {
            EscapeContext::Address(part) => self.address(part, byte),
            EscapeContext::Document => self.document(byte),
            _ => {}
        }
    }
}

/// Reads a byte of a declaration or an instruction.
const fn closing(byte: u8) -> State {
    if byte == b'>' {
        State::Text
    } else {
        State::Closing
    }
}

/// Whether HTML takes the byte for white space.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}
