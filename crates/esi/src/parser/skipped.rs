//! Skips bytes in which no mark counts: those passed on as they are, and those left out.

use super::{MOST_TAG, Mode, Parser, Read, elements::Element, marks::is_name};
use crate::tag::{Extent, extent};
use memchr::{memchr, memmem};

impl Parser {
    /// Passes on bytes in which nothing counts: a comment, or `CDATA`.
    pub(super) fn verbatim(&mut self) -> Read {
        let rest = self.window.slice(self.at..);
        let mut length = 0;
        while let Some(more) = rest.get(length..).filter(|more| !more.is_empty()) {
            // Either ends with this.
            let end = memchr(b'>', more).map_or(more.len(), |at| at + 1);
            self.html.text(more.get(..end).unwrap_or(more));
            length += end;
            if !self.html.is_skipped() {
                self.mode = Mode::Text;
                break;
            }
        }
        self.pass(length);
        on(length)
    }

    /// Leaves bytes out. Elements of the same name may be nested, except `remove`: that one is for clients that do not
    /// read ESI, and its content is not markup.
    pub(super) fn removed(&mut self, element: Element, within: usize) -> Read {
        let name = element.name();
        let rest = self.rest();
        let Some(at) = memmem::find(rest, name) else {
            // The end may hold a part of the name and what precedes it.
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
            // Another element, whose name is longer.
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

/// This many bytes; [`Read::Wait`] if there are none.
fn on(length: usize) -> Read {
    if length == 0 {
        Read::Wait
    } else {
        Read::On(length)
    }
}
