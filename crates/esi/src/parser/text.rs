//! Reads text in which marks count, and handles the marks.

use super::{
    MOST_TAG, Mode, Parser, Read,
    html::is_blank,
    marks::{Mark, MarkMatch},
};
use crate::{
    Token,
    tag::{Extent, Tag, extent},
    variable::{Reading, Variable},
};

impl Parser {
    /// Reads text up to the next mark, and the mark.
    pub(super) fn text(&mut self) -> Read {
        let rest = self.window.slice(self.at..);
        if rest.is_empty() {
            return Read::Wait;
        }
        let mut from = 0;
        while let Some(at) = self.candidate(&rest, from) {
            let here = rest.get(at..).unwrap_or_default();
            match self.look(here) {
                MarkMatch::Nothing => from = at + 1,
                MarkMatch::Unclear => return self.up_to(at),
                MarkMatch::Mark(mark) => {
                    if at > 0 {
                        self.markup(at);
                        return Read::On(at);
                    }
                    match self.mark(mark, here) {
                        Some(read) => return read,
                        // It is not a mark after all.
                        None => from = 1,
                    }
                }
            }
        }
        self.markup(rest.len());
        Read::On(rest.len())
    }

    /// Reads text up to `at`, where more bytes are needed to tell what begins.
    fn up_to(&mut self, at: usize) -> Read {
        if at == 0 {
            return Read::Wait;
        }
        self.markup(at);
        Read::On(at)
    }

    /// Reads the mark at the beginning of `here`; `None` if it turns out to be text.
    fn mark(&mut self, mark: Mark, here: &[u8]) -> Option<Read> {
        match mark {
            // In an attribute, for instance, it is text.
            Mark::Verbatim(_) if !self.html.is_markup() => None,
            Mark::Verbatim(opening) => {
                self.mode = Mode::Verbatim;
                self.markup(opening.len());
                Some(Read::On(opening.len()))
            }
            Mark::CommentStart => {
                self.in_comment = true;
                Some(Read::On(b"<!--esi".len()))
            }
            Mark::CommentEnd => {
                self.in_comment = false;
                Some(Read::On(b"-->".len()))
            }
            Mark::Variable => self.variable(here),
            Mark::Tag | Mark::EndTag => match extent(here.get(..MOST_TAG).unwrap_or(here)) {
                Extent::Ends(length) => {
                    let inside = here.get(..length - 1)?;
                    if mark == Mark::Tag {
                        let Some(is_whole) = self.is_whole(here.get(length..)?) else {
                            return Some(Read::Wait);
                        };
                        self.start(&Tag::read(inside.strip_prefix(b"<esi:")?), is_whole);
                    } else {
                        self.end(&Tag::read(inside.strip_prefix(b"</esi:")?));
                    }
                    Some(Read::On(length))
                }
                Extent::Open if here.len() < MOST_TAG && !self.ended => Some(Read::Wait),
                Extent::Open | Extent::Never => None,
            },
        }
    }

    /// Reads `$(…)` in `<esi:vars>`. A variable that we do not know is text: `$(` means much in scripts.
    fn variable(&mut self, here: &[u8]) -> Option<Read> {
        let most = here.get(..MOST_TAG).unwrap_or(here);
        let (text, is_cut) = match std::str::from_utf8(most) {
            Ok(text) => (text, false),
            Err(error) => {
                let good = most.get(..error.valid_up_to())?;
                (std::str::from_utf8(good).ok()?, error.error_len().is_some())
            }
        };
        match Variable::begin(text) {
            Reading::Is(variable, length) if variable.is_known() => {
                let Some(is_whole) = self.is_whole(here.get(length..)?) else {
                    return Some(Read::Wait);
                };
                self.place(variable, is_whole);
                Some(Read::On(length))
            }
            Reading::More if !is_cut && !self.ended && here.len() < MOST_TAG => Some(Read::Wait),
            Reading::Is(..) | Reading::Not | Reading::More => None,
        }
    }

    /// Passes on the value of `variable`, which stands here.
    pub(super) fn place(&mut self, variable: Variable, is_whole: bool) {
        // If it is empty, the next attribute must not become the value.
        let variable = if is_whole {
            variable.or_default("\"\"")
        } else {
            variable
        };
        let place = self.html.value(&variable);
        self.found
            .push_back(Token::Value(Box::new(variable), place));
    }

    /// Whether what stands here, before `after`, is the whole value of an attribute without quotes. `None` if more bytes
    /// are needed to tell.
    fn is_whole(&self, after: &[u8]) -> Option<bool> {
        const END: &[u8] = b"</esi:vars>";
        if !self.html.is_before_value() {
            return Some(false);
        }
        let after = after.strip_prefix(END).unwrap_or(after);
        match after.first() {
            Some(byte) if is_blank(*byte) => Some(true),
            _ if END.starts_with(after) && !self.ended => None,
            _ => Some(false),
        }
    }
}
