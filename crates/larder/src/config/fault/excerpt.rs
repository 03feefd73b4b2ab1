//! The excerpt of a file that faults are shown in. Each fault shows its whole line, so long lines are cut.

use std::ops::Range;

/// Largest number of characters shown of a line.
const LONGEST_LINE: usize = 300;

const ELLIPSIS: &str = "…";

/// A text with its long lines cut.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub text: String,
    /// Where each line begins in the whole text and in the excerpt, and how many of its bytes the excerpt has.
    lines: Vec<(usize, usize, usize)>,
    whole: String,
}

impl Excerpt {
    pub(super) fn of(whole: &str) -> Self {
        let (mut text, mut lines) = (String::with_capacity(whole.len()), Vec::new());
        let mut start = 0;
        for line in whole.split_inclusive('\n') {
            let words = line.trim_end_matches(['\n', '\r']);
            let end = words.char_indices().nth(LONGEST_LINE);
            let shown = end.map_or(line.len(), |(end, _)| end);
            lines.push((start, text.len(), shown));
            text.push_str(line.get(..shown).unwrap_or_default());
            if end.is_some() {
                text.push_str(ELLIPSIS);
                text.push_str(line.get(words.len()..).unwrap_or_default());
            }
            start += line.len();
        }
        // A caret behind the last line needs a line end to stand at.
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Self {
            text,
            lines,
            whole: whole.to_owned(),
        }
    }

    /// Translates a range of the whole text into the excerpt. `None` if its beginning was cut off.
    pub(super) fn place(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let start = self.shown(span.start)?;
        let end = self
            .shown(span.end)
            .unwrap_or_else(|| self.end_of_line(span.end));
        Some(start..end.max(start))
    }

    fn line(&self, byte: usize) -> (usize, usize, usize) {
        let after = self.lines.partition_point(|(start, ..)| *start <= byte);
        let line = self.lines.get(after.saturating_sub(1));
        line.copied().unwrap_or_default()
    }

    fn shown(&self, byte: usize) -> Option<usize> {
        let (start, here, shown) = self.line(byte);
        let within = byte - start;
        (within <= shown).then_some(here + within)
    }

    fn end_of_line(&self, byte: usize) -> usize {
        let (_, here, shown) = self.line(byte);
        here + shown
    }

    /// Line and column of a byte in the whole text, counted from 1.
    pub(super) fn line_and_column(&self, byte: usize) -> (usize, usize) {
        let (start, ..) = self.line(byte);
        let line = self.lines.partition_point(|(start, ..)| *start <= byte);
        let before = self.whole.get(start..byte).unwrap_or_default();
        (line.max(1), before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_places_move() {
        let long = "é".repeat(1000);
        let whole = format!("a = 1\n{long} = 2\nb = 3\n");
        let excerpt = Excerpt::of(&whole);
        assert!(excerpt.text.len() < 700);
        let at = |word: &str| {
            let start = whole.find(word).unwrap();
            let span = excerpt.place(&(start..start + word.len()));
            span.and_then(|span| excerpt.text.get(span))
        };
        assert_eq!(at("a = 1"), Some("a = 1"));
        assert_eq!(at("b = 3"), Some("b = 3"));
        assert_eq!(at("= 2"), None);
        let key = excerpt.place(&(6..6 + long.len())).unwrap();
        assert_eq!(key, 6..6 + 2 * LONGEST_LINE);
        assert_eq!(excerpt.line_and_column(6 + long.len()), (2, 1001));
        assert_eq!(Excerpt::of("").place(&(0..0)), Some(0..0));
    }
}
