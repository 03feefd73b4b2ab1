//! Expressions that were meant as a search, and what to write instead, since each must cover the whole text. Nothing is
//! compiled here.

use super::Wrong;

/// Whether an expression is plain text, perhaps with an end.
pub(in crate::config) fn is_word(pattern: &str) -> bool {
    let text = pattern.strip_suffix('$').unwrap_or(pattern);
    !text.is_empty() && !text.contains(|letter| r"\.+*?()|[]{}^$".contains(letter))
}

/// Proposes a search as an expression that covers the whole text. `before` is the text before it.
pub(in crate::config::value) fn proposed(wrong: Wrong, before: &str, pattern: &str) -> Wrong {
    match whole(pattern) {
        Some(whole) => wrong.instead(format!("{before}{whole}")),
        None => wrong,
    }
}

/// Turns a search into an expression that covers the whole text, with ends for each alternative. `None` if there may be
/// alternatives or ends within a group or a class.
pub(in crate::config) fn whole(pattern: &str) -> Option<String> {
    let each = alternatives(pattern).into_iter().map(whole_alone);
    each.collect::<Option<Vec<_>>>().map(|all| all.join("|"))
}

fn whole_alone(pattern: &str) -> Option<String> {
    let (before, rest) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => (".*", pattern),
    };
    let (rest, after) = match rest.strip_suffix('$').filter(|rest| !rest.ends_with('\\')) {
        Some(rest) => (rest, ""),
        None if rest.ends_with(".*") && !rest.ends_with(r"\.*") => (rest, ""),
        None => (rest, ".*"),
    };
    let before = if rest.starts_with(".*") { "" } else { before };
    let has_ends = rest.replace("[^", "[").contains(['^', '$']);
    (!has_ends).then(|| format!("{before}{rest}{after}"))
}

/// Splits an expression at the bars that are not escaped and not in a group or class.
pub(in crate::config) fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut all, mut begin) = (Vec::new(), 0);
    for (at, sign, depth) in structure(pattern) {
        if sign == '|' && depth == 0 {
            all.extend(pattern.get(begin..at));
            begin = at + 1;
        }
    }
    all.extend(pattern.get(begin..));
    all
}

/// Splits an expression behind the group with which it begins. Without the group's brackets.
pub(in crate::config::value) fn first_group(pattern: &str) -> Option<(&str, &str)> {
    let begun = pattern.strip_prefix('(')?;
    let mut signs = structure(pattern);
    let (end, ..) = signs.find(|(_, sign, depth)| *sign == ')' && *depth == 0)?;
    Some((begun.get(..end - 1)?, pattern.get(end + 1..)?))
}

/// Returns the signs that are not escaped and not in a class, each with its place and the number of groups around it.
fn structure(pattern: &str) -> impl Iterator<Item = (usize, char, u32)> {
    let (mut depth, mut in_class, mut is_escaped) = (0_u32, false, false);
    pattern.char_indices().filter_map(move |(at, sign)| {
        match sign {
            _ if is_escaped => {
                is_escaped = false;
                return None;
            }
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => return None,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let around = if sign == '(' { depth - 1 } else { depth };
        Some((at, sign, around))
    })
}

/// Whether an expression has a beginning but no end: it was meant as a search, and would hardly ever match.
pub(super) fn is_open(pattern: &str) -> bool {
    let repeats = ['*', '+', '?', '}'];
    let last = pattern.trim_end_matches(')');
    pattern.starts_with('^') && !last.ends_with('$') && !last.ends_with(repeats)
}

/// Splits off the leading flags, such as `(?i)`, which do not say where the expression begins.
pub(in crate::config) fn flags(pattern: &str) -> (&str, &str) {
    let is_flag = |letter: char| letter.is_ascii_alphabetic() || letter == '-';
    let behind = pattern.strip_prefix("(?").and_then(|rest| {
        let begun = rest.trim_start_matches(is_flag).strip_prefix(')')?;
        pattern.split_at_checked(pattern.len() - begun.len())
    });
    behind.unwrap_or(("", pattern))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::pattern::anchored;
    use regex::Regex;

    /// The proposal matches exactly what the search would have found.
    #[test]
    fn what_is_searched_for_is_proposed_as_a_whole() {
        for (searched, proposal) in [
            ("x", Some(".*x.*")),
            ("^x", Some("x.*")),
            ("x$", Some(".*x")),
            ("bot|crawl|spider", Some(".*bot.*|.*crawl.*|.*spider.*")),
            ("^wp|^sess", Some("wp.*|sess.*")),
            ("^a$|b", Some("a|.*b.*")),
            ("[|^]x", None),
            ("[|]x", Some(".*[|]x.*")),
            ("(bot|crawl)er$|x", Some(".*(bot|crawl)er|.*x.*")),
            (r"\.(png|jpg)$", Some(r".*\.(png|jpg)")),
            (r"a\|b", Some(r".*a\|b.*")),
            (r"^a\|b|c", Some(r"a\|b.*|.*c.*")),
            ("(^a|b)", None),
            ("x.*", Some(".*x.*")),
            (r"x\.*", Some(r".*x\.*.*")),
            ("^.*x", Some(".*x.*")),
            ("[^a]b", Some(".*[^a]b.*")),
        ] {
            assert_eq!(whole(searched).as_deref(), proposal, "{searched}");
            let Some(proposal) = proposal else { continue };
            let (searched, proposal) = (Regex::new(searched).unwrap(), anchored(proposal).unwrap());
            for text in [
                "",
                "x",
                "axb",
                "a",
                "b",
                "a|b",
                "wpx",
                "xwp",
                "sess",
                "robots",
                "a crawler",
                "c",
            ] {
                let both = [&searched, &proposal].map(|regex| regex.is_match(text));
                assert_eq!(both[0], both[1], "{searched} {proposal}: {text}");
            }
        }
        for (pattern, open) in [
            ("^x", true),
            ("^(a|b)", true),
            ("^x$", false),
            ("^.*?", false),
            ("^[0-9]{3}", false),
            ("^(Mozilla.*|curl.*)", false),
            ("x", false),
        ] {
            assert_eq!(is_open(pattern), open, "{pattern}");
        }
    }
}
