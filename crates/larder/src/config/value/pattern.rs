//! What patterns of all kinds share: regular expressions, which cover the whole of a text.

mod search;

pub(in crate::config) use search::{alternatives, flags, is_word, whole};
pub(super) use search::{first_group, proposed};

use super::Wrong;
use regex::{Regex, RegexBuilder};
use search::is_open;

/// Largest compiled size of one regular expression, in bytes.
const LARGEST_REGEX: usize = 1 << 20;

/// Compiles an expression that must cover the whole text.
pub(super) fn anchored(pattern: &str) -> Result<Regex, Wrong> {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(LARGEST_REGEX)
            .dot_matches_new_line(true)
            .build()
    };
    // Compiled alone first, so that a message shows the pattern as it was written.
    build(pattern)
        // The closing part is on its own line only if there is a comment (`(?x)`), which ends with its line. Otherwise
        // the line break would count.
        .and_then(|_| {
            let closed = build(&format!(r"\A(?:{pattern})\z"));
            closed.or_else(|_| build(&format!("\\A(?:{pattern}\n)\\z")))
        })
        .map_err(|error| Wrong::new(describe(&error)))
}

/// Compiles an expression again, to match in upper and lower case alike. It still reads as it did.
pub(super) fn in_any_case(regex: &Regex) -> Result<Regex, Wrong> {
    RegexBuilder::new(regex.as_str())
        .size_limit(LARGEST_REGEX)
        .dot_matches_new_line(true)
        .case_insensitive(true)
        .build()
        .map_err(|error| Wrong::new(describe(&error)))
}

/// Compiles the expression behind `~`, which covers the whole of `what`. `before` is the text before the `~`.
pub(super) fn expression(before: &str, pattern: &str, what: &str) -> Result<Regex, Wrong> {
    in_its_case(before, pattern)?;
    let (flags, begun) = flags(pattern);
    if is_open(begun) {
        let wrong = Wrong::new(format!(
            "a regular expression must match the whole {what}, not only its beginning"
        ));
        return Err(proposed(wrong, &format!("{before}~ {flags}"), begun));
    }
    anchored(pattern)
}

/// Returns an expression as it was before [`anchored`] closed it.
pub fn bare(regex: &str) -> &str {
    let inner = regex.strip_prefix(r"\A(?:");
    inner
        .and_then(|inner| inner.strip_suffix(r")\z"))
        .unwrap_or(regex)
}

/// As [`of_whole`], for a value.
pub(super) fn of_value(before: &str, pattern: &str, is_long: bool) -> Result<Regex, Wrong> {
    of_whole("value", before, pattern, is_long)
}

/// Compiles the expression behind `~`, which covers the whole of `kind`. Refuses one that is a plain word: it was meant as
/// a search. `is_long`: values are never one word, nor one of a few, whatever their case.
pub(super) fn of_whole(
    kind: &str,
    before: &str,
    pattern: &str,
    is_long: bool,
) -> Result<Regex, Wrong> {
    let regex = expression(before, pattern, kind)?;
    let (flags, begun) = flags(pattern);
    let is_searched = if is_long {
        alternatives(begun).into_iter().all(is_word)
    } else {
        is_word(pattern)
    };
    if !is_searched {
        return Ok(regex);
    }
    let alone = if is_long {
        String::new()
    } else {
        format!(" (for this {kind} alone, leave `~` out)")
    };
    let what = format!("a regular expression must match the whole {kind}, not only a part of it");
    let wrong = Wrong::new(format!("{what}{alone}"));
    Err(proposed(wrong, &format!("{before}~ {flags}"), begun))
}

/// Refuses nginx's `~*`. `pattern` is the text behind `~`, `before` the text before it.
pub(super) fn in_its_case(before: &str, pattern: &str) -> Result<(), Wrong> {
    let searched = pattern.strip_prefix('*').map(str::trim_start);
    searched.map_or(Ok(()), |pattern| {
        let wrong = Wrong::new("to ignore upper and lower case, write `(?i)` instead of `~*`");
        Err(proposed(wrong, &format!("{before}~ (?i)"), pattern))
    })
}

/// Returns the reason in one line: the last line of the message of `regex`, which first draws the pattern.
fn describe(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("the regular expression is larger than {limit} bytes when compiled");
    }
    let text = error.to_string();
    let reason = text.lines().last().unwrap_or_default();
    let reason = reason.trim().trim_start_matches("error: ");
    format!("the regular expression is not valid: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_cover_the_whole() {
        for (pattern, text) in [("a|ab", "ab"), ("(?x) a b # both", "ab"), ("a.", "a\n")] {
            let expression = anchored(pattern).unwrap();
            assert!(expression.is_match(text), "{pattern}");
            assert!(!expression.is_match(&format!("{text}c")), "{pattern}");
            assert!(!expression.is_match(&format!("{text}\n")), "{pattern}");
        }
        anchored("(a").unwrap_err();
    }
}
