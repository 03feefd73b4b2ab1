//! Comments, `CDATA`, and declarations.

use super::{Html, State, closing};

/// Where in a comment (HTML section 13.2.5.43 and those that follow it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comment {
    /// After `<!--`.
    Start,
    /// After `<!---`.
    StartHyphen,
    Inside,
    /// After `-`.
    Hyphen,
    /// After `--`.
    Hyphens,
    /// After `--!`.
    Bang,
}

impl Comment {
    /// The state after one more byte.
    pub(super) const fn next(self, byte: u8) -> State {
        State::Comment(match (self, byte) {
            (Self::Start | Self::StartHyphen | Self::Hyphens | Self::Bang, b'>') => {
                return State::Text;
            }
            (Self::Start, b'-') => Self::StartHyphen,
            (Self::StartHyphen | Self::Hyphen | Self::Hyphens, b'-') => Self::Hyphens,
            (Self::Inside | Self::Bang, b'-') => Self::Hyphen,
            (Self::Hyphens, b'!') => Self::Bang,
            _ => Self::Inside,
        })
    }
}

impl Html {
    /// Reads a byte after `<!` and the name.
    pub(super) fn in_declaration(&mut self, byte: u8) -> State {
        const COMMENT: &[u8] = b"--";
        const VERBATIM: &[u8] = b"[CDATA[";
        self.name.push(byte);
        let name = self.name.as_slice();
        if name == COMMENT {
            State::Comment(Comment::Start)
        } else if name == VERBATIM {
            State::Verbatim {
                brackets: 0,
                is_ended: false,
            }
        } else if COMMENT.starts_with(name) || VERBATIM.starts_with(name) {
            State::Declared
        } else {
            closing(byte)
        }
    }

    /// Reads a byte of `CDATA`.
    pub(super) fn in_verbatim(&mut self, brackets: u8, is_ended: bool, byte: u8) -> State {
        let (brackets, is_ended) = match (byte, brackets) {
            (b'>', 2..) => return State::Text,
            (b']', _) => (2.min(brackets + 1), is_ended),
            (b'>', _) => {
                self.is_forked = !is_ended;
                (0, true)
            }
            _ => (0, is_ended),
        };
        State::Verbatim { brackets, is_ended }
    }
}
