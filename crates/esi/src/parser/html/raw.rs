//! Elements whose content is not markup.

use super::{Html, State, is_blank};
use crate::escape::EscapeContext;

/// The content of an element, if browsers do not read it as markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Script(Script),
    Style,
    /// Text, up to this end.
    Text(&'static [u8]),
}

/// Where in a script (HTML section 13.2.5.18 and those that follow it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Plain,
    /// After `<!--`.
    Comment,
    /// After `<script` in such a comment: `</script` does not end the element.
    Inner,
}

/// Elements whose content is text.
const TEXTS: [(&[u8], &[u8]); 7] = [
    (b"title", b"/title"),
    (b"textarea", b"/textarea"),
    (b"iframe", b"/iframe"),
    (b"xmp", b"/xmp"),
    (b"noembed", b"/noembed"),
    (b"noframes", b"/noframes"),
    (b"noscript", b"/noscript"),
];

impl Raw {
    /// The content of the element with this name; `None` if it is markup.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"script" => Some(Self::Script(Script::Plain)),
            b"style" => Some(Self::Style),
            _ => {
                let text = TEXTS.iter().find(|(known, _)| *known == name);
                text.map(|(_, end)| Self::Text(end))
            }
        }
    }

    pub(super) const fn place(self) -> EscapeContext {
        match self {
            Self::Script(_) => EscapeContext::Script,
            Self::Style => EscapeContext::Style,
            Self::Text(_) => EscapeContext::Text,
        }
    }

    /// What ends it, after `<`.
    const fn end(self) -> &'static [u8] {
        match self {
            Self::Script(_) => b"/script",
            Self::Style => b"/style",
            Self::Text(end) => end,
        }
    }

    /// What else means something after `<`.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Script(Script::Plain) => b"!--",
            Self::Script(Script::Comment) => b"script",
            Self::Script(Script::Inner) | Self::Style | Self::Text(_) => b"",
        }
    }
}

impl Html {
    /// Reads a byte of the content.
    pub(super) fn in_raw(&mut self, raw: Raw, byte: u8) -> State {
        match (raw, byte) {
            (_, b'<') => {
                self.name.clear();
                State::RawOpen(raw)
            }
            (Raw::Script(script @ (Script::Comment | Script::Inner)), b'-') => {
                State::RawHyphens(script, 1)
            }
            _ => State::Raw(raw),
        }
    }

    /// Reads a byte after `<` and the name.
    pub(super) fn in_raw_tag(&mut self, raw: Raw, byte: u8) -> State {
        if is_blank(byte) || matches!(byte, b'>' | b'/') {
            match raw {
                Raw::Script(Script::Inner) if self.name == raw.end() => {
                    return State::Raw(Raw::Script(Script::Comment));
                }
                Raw::Script(Script::Comment) if self.name == raw.mark() => {
                    return State::Raw(Raw::Script(Script::Inner));
                }
                _ if self.name == raw.end() => {
                    self.element = None;
                    return self.after_name(byte);
                }
                _ => {}
            }
        }
        let state = self.more(State::RawOpen(raw), byte);
        if raw == Raw::Script(Script::Plain) && self.name == raw.mark() {
            return State::RawHyphens(Script::Comment, 2);
        }
        if raw.end().starts_with(&self.name) || raw.mark().starts_with(&self.name) {
            return state;
        }
        self.in_raw(raw, byte)
    }

    /// Reads a byte after hyphens that may end a comment in a script.
    pub(super) fn after_hyphens(&mut self, script: Script, hyphens: u8, byte: u8) -> State {
        match (hyphens, byte) {
            (2.., b'>') => State::Raw(Raw::Script(Script::Plain)),
            (_, b'-') => State::RawHyphens(script, 2),
            _ => self.in_raw(Raw::Script(script), byte),
        }
    }
}
