//! Finds marks: bytes at which something other than text may begin.

use super::Parser;
use memchr::{memchr, memchr3};

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
    /// This, which begins a comment or `CDATA` in markup.
    Verbatim(&'static [u8]),
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

const COMMENT: &[u8] = b"<!--";
const VERBATIM: &[u8] = b"<![CDATA[";

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
        match here {
            [b'$', ..] => self.is(here, b"$(", Mark::Variable),
            [b'-', ..] => self.is(here, b"-->", Mark::CommentEnd),
            [b'<', b'e', ..] => self.is(here, b"<esi:", Mark::Tag),
            [b'<', b'/', ..] => self.is(here, b"</esi:", Mark::EndTag),
            [b'<', b'!', b'[', ..] => self.is(here, VERBATIM, Mark::Verbatim(VERBATIM)),
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
        self.is(here, COMMENT, Mark::Verbatim(COMMENT))
    }
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
