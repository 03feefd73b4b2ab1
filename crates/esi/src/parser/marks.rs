//! Finds marks: bytes at which something other than text may begin.

use super::Parser;
use memchr::{memchr, memchr3};

/// An element whose content is not markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Script,
    Style,
}

/// What begins at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// `<esi:`
    Tag,
    /// `</esi:`
    EndTag,
    /// `<!--esi`
    CommentStart,
    /// The `-->` of `<!--esi`.
    CommentEnd,
    /// `<!--` or `<![CDATA[`; ends with this.
    Verbatim(&'static [u8]),
    /// `<script` or `<style`.
    Raw(Raw),
    /// The end of that element.
    RawEnd,
    /// `$(`
    Variable,
}

/// What begins at a byte, as far as the bytes at hand show.
pub(super) enum MarkMatch {
    Nothing,
    Mark(Mark),
    /// More bytes are needed to tell.
    Unclear,
}

impl Parser {
    /// Returns the next byte, from `from` on, at which a mark may begin.
    pub(super) fn candidate(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = bytes.get(from..)?;
        let found = if self.vars == 0 && !self.in_comment {
            memchr(b'<', rest)
        } else {
            let dollar = if self.vars > 0 { b'$' } else { b'<' };
            let dash = if self.in_comment { b'-' } else { b'<' };
            memchr3(b'<', dollar, dash, rest)
        };
        found.map(|at| from + at)
    }

    /// Returns what begins at the first byte of `here`.
    pub(super) fn look(&self, here: &[u8]) -> MarkMatch {
        let markup = self.place.is_none();
        match here {
            [b'$', ..] => self.is(here, b"$(", Mark::Variable),
            [b'-', ..] => self.is(here, b"-->", Mark::CommentEnd),
            [b'<', b'e', ..] => self.is(here, b"<esi:", Mark::Tag),
            [b'<', b'/', b's' | b'S', ..] if !markup => self.raw_end(here),
            [b'<', b'/', ..] => self.is(here, b"</esi:", Mark::EndTag),
            [b'<', b's' | b'S', ..] if markup => self.raw_start(here),
            [b'<', b'!', b'[', ..] if markup => self.is(here, b"<![CDATA[", Mark::Verbatim(b"]]>")),
            [b'<', b'!', ..] => self.comment(here),
            [b'<'] if !self.ended => MarkMatch::Unclear,
            _ => MarkMatch::Nothing,
        }
    }

    /// Whether `here` begins with `text`, and so with `mark`.
    fn is(&self, here: &[u8], text: &[u8], mark: Mark) -> MarkMatch {
        if here.starts_with(text) {
            MarkMatch::Mark(mark)
        } else if text.starts_with(here) && !self.ended {
            MarkMatch::Unclear
        } else {
            MarkMatch::Nothing
        }
    }

    /// Distinguishes `<!--esi`, whose content counts, from `<!--`, whose content does not. `<!--esixyz` is a comment
    /// like any other.
    fn comment(&self, here: &[u8]) -> MarkMatch {
        const OURS: &[u8] = b"<!--esi";
        if let Some(after) = here.strip_prefix(OURS) {
            match after.first() {
                Some(next) if is_name(*next) => {}
                None if !self.ended => return MarkMatch::Unclear,
                _ => return MarkMatch::Mark(Mark::CommentStart),
            }
        } else if OURS.starts_with(here) && !self.ended {
            return MarkMatch::Unclear;
        }
        if self.place.is_none() && here.starts_with(b"<!--") {
            return MarkMatch::Mark(Mark::Verbatim(b"-->"));
        }
        MarkMatch::Nothing
    }

    fn raw_start(&self, here: &[u8]) -> MarkMatch {
        for (name, raw) in [(&b"<script"[..], Raw::Script), (b"<style", Raw::Style)] {
            match self.named(here, name) {
                MarkMatch::Nothing => {}
                MarkMatch::Mark(_) => return MarkMatch::Mark(Mark::Raw(raw)),
                MarkMatch::Unclear => return MarkMatch::Unclear,
            }
        }
        MarkMatch::Nothing
    }

    fn raw_end(&self, here: &[u8]) -> MarkMatch {
        let name: &[u8] = match self.place {
            Some(Raw::Script) => b"</script",
            Some(Raw::Style) => b"</style",
            None => return MarkMatch::Nothing,
        };
        self.named(here, name)
    }

    /// Whether `here` begins with `name`, in any case, and not with a longer name.
    fn named(&self, here: &[u8], name: &[u8]) -> MarkMatch {
        let common = here.len().min(name.len());
        let alike = here
            .iter()
            .zip(name)
            .all(|(byte, expected)| byte.eq_ignore_ascii_case(expected));
        match here.get(common) {
            _ if !alike => MarkMatch::Nothing,
            Some(next) if common == name.len() && is_name(*next) => MarkMatch::Nothing,
            Some(_) if common == name.len() => MarkMatch::Mark(Mark::RawEnd),
            _ if self.ended => MarkMatch::Nothing,
            _ => MarkMatch::Unclear,
        }
    }
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
