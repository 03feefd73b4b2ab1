//! Paths that are written in another program's way: searches, several paths in one text, placeholders.

use crate::config::value::{
    Word, Wrong,
    foreign::{belongs_to_expressions, each_choice, no_choice, sign},
    pattern::{alternatives, first_group},
};
use std::borrow::Cow;

/// Whether a text is an expression that a path is searched for.
pub(super) fn is_search(text: &str) -> bool {
    let has_signs = sign(text).is_some() || text.starts_with('(') || text.contains(".*");
    has_signs && !text.starts_with(['/', '*']) && !text.contains("://")
}

/// Returns the ending for which a search looks: `\.php$`.
pub(super) fn ending(text: &str) -> Option<&str> {
    let ending = text.strip_prefix("\\.")?.strip_suffix('$')?;
    let is_plain = ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_plain && !ending.is_empty()).then_some(ending)
}

/// Refuses syntax of other programs, which would match nothing here.
pub(super) fn of_others<T: Word>(text: &str) -> Result<(), Wrong> {
    if let Some(all) = each_choice(text) {
        return Err(no_choice("paths").instead_all::<T>(all.iter().map(String::as_str)));
    }
    // Signs that are left belong to an expression, and its braces too: `/[0-9]{4}`.
    if let Some(meant) = with_stars(text).filter(|meant| sign(meant).is_none()) {
        let what = "a placeholder for a segment is written `*`";
        let wrong = Wrong::new(what);
        // Of braces within braces, a part is left.
        return Err(if meant.contains(['{', '}', '<', '>']) {
            wrong
        } else {
            wrong.instead(meant)
        });
    }
    if let Some(all) = several(text) {
        let wrong = Wrong::new("this is more than one path: write several paths as a list");
        return Err(wrong.instead_all::<T>(all.into_iter()));
    }
    let Some(sign) = sign(text) else {
        return Ok(());
    };
    let wrong = belongs_to_expressions(sign);
    let all: Vec<_> = text.split('|').collect();
    let is_list = text.contains('*')
        && !text.contains(['(', '['])
        && all.iter().all(|path| plain_alone(path));
    Err(if is_list {
        wrong.instead_all::<T>(all.into_iter())
    } else {
        wrong.instead_if_good::<T>(&format!("~ {}", without_stars(text)))
    })
}

/// Whether it is a path, perhaps with stars, and no expression.
fn plain_alone(path: &str) -> bool {
    path.starts_with(['/', '*']) && sign(path).is_none() && !path.contains(".*")
}

/// Splits a text into the paths of which it consists, if there are several.
fn several(text: &str) -> Option<Vec<&str>> {
    let is_between = |letter: char| letter == ',' || letter.is_whitespace();
    let all: Vec<_> = text
        .split(is_between)
        .filter(|path| !path.is_empty())
        .collect();
    let takes_endings = text.starts_with('*') || text.contains(',');
    let is_path = |path: &&str| path.starts_with('/') || takes_endings && path.starts_with("*.");
    (all.len() > 1 && all.iter().all(is_path)).then_some(all)
}

/// Returns an expression for a text that has stars for anything beside other signs of expressions. A star behind a letter
/// or a slash is meant so.
fn without_stars(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let before = text.get(..at).unwrap_or_default();
        let is_escaped = before.len() > 1
            && before
                .get(before.len() - 2..)
                .is_some_and(|two| two.starts_with('\\'));
        let is_anything = letter == '*'
            && !is_escaped
            && before
                .chars()
                .next_back()
                .is_none_or(|last| last.is_ascii_alphanumeric() || "/|()-_".contains(last));
        if !is_anything {
            pattern.push(letter);
            continue;
        }
        let is_double = letters.next_if(|(_, next)| *next == '*').is_some();
        let next = letters.peek().map(|(_, next)| *next);
        let is_across =
            is_double || !before.contains('/') || next.is_none_or(|next| "|)$".contains(next));
        pattern.push_str(if is_across { ".*" } else { "[^/]*" });
        if letters.next_if(|(_, next)| *next == '.').is_some() {
            pattern.push_str("\\.");
        }
    }
    pattern
}

/// Replaces placeholders, `{id}` and `<id>`, with `*`. `None` if there are none.
fn with_stars(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(['{', '<'])?;
    let (_, after) = rest.split_once(['}', '>'])?;
    let after = with_stars(after).map_or(Cow::Borrowed(after), Cow::Owned);
    Some(format!("{before}*{after}"))
}

/// Whether an alternative of an expression cannot begin with `/`: it begins with a letter, a digit or a dot.
pub(super) fn begins_elsewhere(one: &str) -> bool {
    let one = one.strip_prefix('^').unwrap_or(one);
    let is_optional = |rest: &str| rest.starts_with(['?', '*', '{']);
    if let Some((inner, rest)) = first_group(one) {
        let inner = match inner.strip_prefix('?') {
            None => inner,
            // Flags, or a name for the group.
            Some(rest) => match rest.split_once([':', '>']) {
                Some((_, inner)) => inner,
                None => return false,
            },
        };
        return !is_optional(rest) && alternatives(inner).into_iter().any(begins_elsewhere);
    }
    let rest = one
        .strip_prefix("\\.")
        .or_else(|| one.strip_prefix(|first: char| first.is_ascii_alphanumeric()));
    rest.is_some_and(|rest| !is_optional(rest))
}

/// Returns a search in which what begins the path begins with `/`.
pub(super) fn from_root(search: &str) -> String {
    let each = alternatives(search).into_iter().map(|one| {
        let begun = one.strip_prefix('^').filter(|_| begins_elsewhere(one));
        begun.map_or(Cow::Borrowed(one), |begun| Cow::Owned(format!("^/{begun}")))
    });
    each.collect::<Vec<_>>().join("|")
}
