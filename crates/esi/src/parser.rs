//! From bytes to tokens: [`Parser`] goes from mark to mark; what begins a mark is found in `marks`, and what a tag opens and closes in
//! `elements`.

mod elements;
mod html;
mod marks;

use crate::{
    Span, Token,
    tag::{Extent, Tag, extent},
    variable::{Reading, Variable},
};
use bytes::{Bytes, BytesMut};
use html::Html;
use marks::is_name;
use memchr::memmem;
use std::collections::VecDeque;

/// Longest tag in bytes. What is longer is text.
pub const MOST_TAG: usize = 8 << 10;

/// Elements open within one another, at most. What is opened beyond is left out with all that is in it.
pub const MOST_OPEN: usize = 16;

/// Turns a body into tokens, piece by piece. Holds no more than the last piece and the beginning of a tag.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// What has come and is not read, or just was.
    window: Bytes,
    /// The offset of `window` in the body.
    base: u64,
    /// How far `window` is read.
    at: usize,
    ended: bool,
    mode: Mode,
    /// Within an element whose content is no markup.
    place: Option<Raw>,
    /// Where values stand.
    html: Html,
    /// Within `<!--esi`.
    in_comment: bool,
    /// Within so many `<esi:vars>`.
    vars: usize,
    open: Vec<Open>,
    found: VecDeque<Token>,
}

/// What the bytes being read are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Text,
    /// Text in which nothing counts, up to this.
    Verbatim(&'static [u8]),
    /// Left out, up to the end of this element, of which so many more are open.
    Removed(Element, usize),
}

/// An element whose content is not markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Raw {
    Script,
    Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Choose,
    /// `when` or `otherwise`.
    Branch,
    Try,
    /// `attempt` or `except`.
    Side,
}

/// Elements with content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Remove,
    Vars,
    Choose,
    When,
    Otherwise,
    Try,
    Attempt,
    Except,
    Comment,
    Include,
}

const ELEMENTS: [(&[u8], Element); 10] = [
    (b"include", Element::Include),
    (b"remove", Element::Remove),
    (b"vars", Element::Vars),
    (b"choose", Element::Choose),
    (b"when", Element::When),
    (b"otherwise", Element::Otherwise),
    (b"try", Element::Try),
    (b"attempt", Element::Attempt),
    (b"except", Element::Except),
    (b"comment", Element::Comment),
];

impl Element {
    fn named(name: &[u8]) -> Option<Self> {
        let known = ELEMENTS.iter().find(|(known, _)| *known == name);
        known.map(|(_, element)| *element)
    }

    /// The name as tags have it.
    const fn name(self) -> &'static [u8] {
        match self {
            Self::Remove => b"esi:remove",
            Self::Vars => b"esi:vars",
            Self::Choose => b"esi:choose",
            Self::When => b"esi:when",
            Self::Otherwise => b"esi:otherwise",
            Self::Try => b"esi:try",
            Self::Attempt => b"esi:attempt",
            Self::Except => b"esi:except",
            Self::Comment => b"esi:comment",
            Self::Include => b"esi:include",
        }
    }
}

/// What may begin at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// `<esi:`
    Tag,
    /// `</esi:`
    EndTag,
    /// `<!--esi`
    CommentStart,
    /// `-->` of that.
    CommentEnd,
    /// `<!--` or `<![CDATA[`, up to this.
    Verbatim(&'static [u8]),
    /// `<script` or `<style`.
    Raw(Raw),
    /// Its end.
    RawEnd,
    /// `$(`
    Variable,
}

/// What begins at a byte, as far as the bytes at hand tell.
enum Seen {
    Nothing,
    Mark(Mark),
    /// More bytes will tell.
    Unclear,
}

/// How reading went.
enum Read {
    /// So many bytes, and on.
    On(usize),
    /// Not without more bytes.
    Wait,
}

impl Parser {
    /// Nothing read.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next piece of the body. To be called when [`next`](Self::next) has given all it has.
    pub fn push(&mut self, piece: Bytes) {
        self.base += self.at as u64;
        let rest = self.window.slice(self.at.min(self.window.len())..);
        self.at = 0;
        self.window = if rest.is_empty() {
            piece
        } else {
            let mut joined = BytesMut::with_capacity(rest.len() + piece.len());
            joined.extend_from_slice(&rest);
            joined.extend_from_slice(&piece);
            joined.freeze()
        };
    }

    /// The body has ended.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// The next token; `None`: more is needed, or after [`finish`](Self::finish) there is no more.
    #[expect(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&mut self) -> Option<Token> {
        loop {
            if let Some(token) = self.found.pop_front() {
                return Some(token);
            }
            let read = match self.mode {
                Mode::Text => self.text(),
                Mode::Verbatim(end) => self.verbatim(end),
                Mode::Removed(element, within) => self.removed(element, within),
            };
            match read {
                Read::On(length) => self.at += length,
                Read::Wait if self.found.is_empty() => {
                    if !self.ended {
                        return None;
                    }
                    self.found.extend(self.open.drain(..).map(|_| Token::End));
                    if self.found.is_empty() {
                        return None;
                    }
                }
                Read::Wait => {}
            }
        }
    }

    /// How far the body is read, when [`next`](Self::next) has given all it has: text yet to come begins there or later.
    pub fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The bytes of a text token. Good until the next [`push`](Self::push).
    pub fn bytes(&self, span: Span) -> Bytes {
        let at = |offset: u64| {
            let within = offset.saturating_sub(self.base);
            usize::try_from(within).map_or(self.window.len(), |at| at.min(self.window.len()))
        };
        let (start, end) = (at(span.start), at(span.end));
        self.window.slice(start.min(end)..end)
    }

    fn rest(&self) -> &[u8] {
        self.window.get(self.at..).unwrap_or_default()
    }

    /// These bytes from here on are text.
    fn pass(&mut self, length: usize) {
        if length > 0 {
            let start = self.base + self.at as u64;
            let end = start + length as u64;
            self.found.push_back(Token::Text(Span { start, end }));
        }
    }

    /// These bytes from here on are text in which markup counts.
    fn markup(&mut self, length: usize) {
        let rest = self.window.get(self.at..).unwrap_or_default();
        self.html.text(rest.get(..length).unwrap_or(rest));
        self.pass(length);
    }

    /// Text up to the next mark, and the mark.
    fn text(&mut self) -> Read {
        let rest = self.window.slice(self.at..);
        if rest.is_empty() {
            return Read::Wait;
        }
        let mut from = 0;
        while let Some(at) = self.candidate(&rest, from) {
            let here = rest.get(at..).unwrap_or_default();
            match self.look(here) {
                Seen::Nothing => from = at + 1,
                Seen::Unclear => return self.up_to(at),
                Seen::Mark(Mark::Raw(raw)) => {
                    self.place = Some(raw);
                    from = at + 1;
                }
                Seen::Mark(Mark::RawEnd) => {
                    self.place = None;
                    from = at + 1;
                }
                Seen::Mark(mark) => {
                    if at > 0 {
                        self.markup(at);
                        return Read::On(at);
                    }
                    match self.mark(mark, here) {
                        Some(read) => return read,
                        // It is none after all.
                        None => from = 1,
                    }
                }
            }
        }
        self.markup(rest.len());
        Read::On(rest.len())
    }

    /// Text up to `at`, where something is not clear yet.
    fn up_to(&mut self, at: usize) -> Read {
        if at == 0 {
            return Read::Wait;
        }
        self.markup(at);
        Read::On(at)
    }

    /// Reads the mark that `here` begins with; `None`: it turns out to be text.
    fn mark(&mut self, mark: Mark, here: &[u8]) -> Option<Read> {
        match mark {
            Mark::Verbatim(end) => {
                self.mode = Mode::Verbatim(end);
                // What opens it does not end it: `<!-->` is no whole comment.
                self.pass(4);
                Some(Read::On(4))
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
                        self.start(&Tag::read(inside.strip_prefix(b"<esi:")?));
                    } else {
                        self.end(&Tag::read(inside.strip_prefix(b"</esi:")?));
                    }
                    Some(Read::On(length))
                }
                Extent::Open if here.len() < MOST_TAG && !self.ended => Some(Read::Wait),
                Extent::Open | Extent::Never => None,
            },
            Mark::Raw(_) | Mark::RawEnd => None,
        }
    }

    /// `$(…)` in `<esi:vars>`. What is none that we know is text: `$(` means much in scripts.
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
                let value = Token::Value(Box::new(variable), self.html.value());
                self.found.push_back(value);
                Some(Read::On(length))
            }
            Reading::More if !is_cut && !self.ended && here.len() < MOST_TAG => Some(Read::Wait),
            Reading::Is(..) | Reading::Not | Reading::More => None,
        }
    }

    /// Bytes in which nothing counts.
    fn verbatim(&mut self, end: &'static [u8]) -> Read {
        let rest = self.rest();
        let length = match memmem::find(rest, end) {
            Some(at) => {
                self.mode = Mode::Text;
                at + end.len()
            }
            None if self.ended => rest.len(),
            None => rest.len().saturating_sub(end.len() - 1),
        };
        if length == 0 {
            return Read::Wait;
        }
        self.pass(length);
        Read::On(length)
    }

    /// Bytes that are left out. Elements of the same name lie within one another, but for `remove`: that is for those who do not
    /// read ESI, and what it holds is no markup.
    fn removed(&mut self, element: Element, within: usize) -> Read {
        let name = element.name();
        let rest = self.rest();
        let Some(at) = memmem::find(rest, name) else {
            // The name may be there in part, and what comes before it.
            let kept = if self.ended { 0 } else { name.len() + 1 };
            return on(rest.len().saturating_sub(kept));
        };
        let (before, after) = (rest.get(..at).unwrap_or_default(), at + name.len());
        let (from, is_end) = match (before.strip_suffix(b"</"), before.strip_suffix(b"<")) {
            (Some(before), _) => (before.len(), true),
            (None, Some(before)) => (before.len(), false),
            (None, None) => return on(after),
        };
        if rest.get(after).is_some_and(|next| is_name(*next)) {
            // Another, whose name is longer.
            return on(after);
        }
        let tag = rest.get(from..).unwrap_or_default();
        let length = match extent(tag.get(..MOST_TAG).unwrap_or(tag)) {
            Extent::Ends(length) => length,
            Extent::Open if tag.len() < MOST_TAG && !self.ended => return on(from),
            Extent::Open | Extent::Never => return on(after),
        };
        let opens =
            element != Element::Remove && !tag.get(..length).unwrap_or_default().ends_with(b"/>");
        self.mode = match (is_end, within) {
            (true, 0) => Mode::Text,
            (true, within) => Mode::Removed(element, within - 1),
            (false, within) => Mode::Removed(element, within + usize::from(opens)),
        };
        on(from + length)
    }
}

/// So many bytes, if any.
fn on(length: usize) -> Read {
    if length == 0 {
        Read::Wait
    } else {
        Read::On(length)
    }
}

#[cfg(test)]
mod tests;
