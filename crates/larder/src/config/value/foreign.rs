//! What is written in another program's way, and would match hardly anything here: expressions without `~`, choices in
//! braces, several names or paths in one text.

use super::{
    Word, Wrong,
    pattern::{alternatives, flags, is_word, whole},
};

/// What names and paths never have, and expressions often do.
const SIGNS: [&str; 7] = ["|", "^", "\\", ".+", "(?", "]+", "]{"];

/// Returns a sign of the text that only regular expressions have.
pub(super) fn sign(text: &str) -> Option<&'static str> {
    let mut signs = SIGNS.into_iter();
    signs
        .find(|sign| text.contains(sign))
        .or_else(|| has_range(text).then_some("["))
        .or_else(|| text.ends_with('$').then_some("$"))
}

/// Whether it has a class such as `[0-9]`. Names of parameters may have other brackets.
fn has_range(text: &str) -> bool {
    let mut classes = text.split('[').skip(1).map(str::as_bytes);
    classes.any(|class| {
        matches!(class, [first, b'-', last, ..] if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
    })
}

/// Returns the fault of a text with a sign of regular expressions, without `~`.
pub(super) fn belongs_to_expressions(sign: &str) -> Wrong {
    Wrong::new(format!(
        "`{sign}` belongs to regular expressions, which begin with `~`"
    ))
}

/// Refuses an expression in place of `name`, which is the beginning of `text` or all of it. It was meant as a search.
pub(super) fn name<T: Word>(text: &str, name: &str) -> Result<(), Wrong> {
    if let Some(sign) = sign(name) {
        let wrong = belongs_to_expressions(sign);
        return Err(match searched(text) {
            Some(meant) => wrong.instead_if_good::<T>(&meant),
            None => wrong,
        });
    }
    if has_any(name) {
        let what = "`.*` belongs to regular expressions: without `~`, `*` stands for anything";
        return Err(Wrong::new(what).instead_if_good::<T>(&name.replace(".*", "*")));
    }
    Ok(())
}

/// Refuses a choice in `name`, which is the beginning of `text` or all of it.
pub(super) fn choice<T: Word>(text: &str, name: &str) -> Result<(), Wrong> {
    let Some(mut all) = each_choice(name) else {
        return Ok(());
    };
    let behind = text.strip_prefix(name).unwrap_or_default();
    for one in &mut all {
        one.push_str(behind);
    }
    Err(no_choice("names").instead_all::<T>(all.iter().map(String::as_str)))
}

/// Returns the fault of a choice in braces, as shells have it.
pub(super) fn no_choice(several: &str) -> Wrong {
    Wrong::new(format!(
        "`{{a,b}}` does not stand for either: write several {several} as a list"
    ))
}

/// The most members of a list that are proposed for one text.
const MOST_CHOICES: usize = 16;

/// Returns the texts for which one with choices stands, `*.{jpg,png}`, or none if they are too many. `None` if there is
/// no choice: beside signs of expressions, `{2,3}` is a number of repetitions.
pub(super) fn each_choice(text: &str) -> Option<Vec<String>> {
    next_choice(text).filter(|_| sign(text).is_none())?;
    let (mut all, mut rest) = (vec![String::new()], text);
    while let Some((before, inner, after)) = next_choice(rest) {
        let each = all.iter().flat_map(|begun| {
            let choices = inner.split(',').map(str::trim);
            choices.map(move |one| format!("{begun}{before}{one}"))
        });
        all = each.take(MOST_CHOICES + 1).collect();
        if all.len() > MOST_CHOICES {
            return Some(Vec::new());
        }
        rest = after;
    }
    for one in &mut all {
        one.push_str(rest);
    }
    Some(all)
}

/// Returns the first choice in a text, with what is before and behind it.
fn next_choice(text: &str) -> Option<(&str, &str, &str)> {
    let is_involved = |inner: &str| inner.contains(['{', '<', '>', ':', '/', '*']);
    let mut braces = text.match_indices('{').filter_map(|(at, _)| {
        let (inner, after) = text.get(at + 1..)?.split_once('}')?;
        let is_choice = inner.contains(',') && !is_involved(inner);
        is_choice.then_some((text.get(..at)?, inner, after))
    });
    braces.next()
}

/// Whether a name without `~` is an expression.
pub(super) fn is_expression(name: &str) -> bool {
    sign(name).is_some() || has_any(name)
}

/// Whether `.*` stands for anything in it. A name may have a dot with a word before it: `Drupal.visitor.*`.
fn has_any(name: &str) -> bool {
    name.starts_with(".*") || name.contains("_.*") || name.contains("-.*")
}

/// Returns the pattern for all names in which a search finds something. Behind `=` there would be a value.
fn searched(text: &str) -> Option<String> {
    let text = text.replace("[^=]", ".");
    let ended = text.strip_suffix('=').map(|name| format!("{name}$"));
    let (flags, begun) = flags(ended.as_deref().unwrap_or(&text));
    let is_nothing = |one: &str| one.trim_matches(['^', '$']).is_empty();
    if alternatives(begun).into_iter().any(is_nothing) {
        return None;
    }
    let whole = whole(begun)?;
    Some(if is_word(&whole) && flags.is_empty() {
        whole
    } else {
        format!("~ {flags}{whole}")
    })
}

/// Refuses an expression in place of a value. `before` is the text before it, `name` the name alone.
pub(super) fn value(before: &str, name: &str, value: &str) -> Result<(), Wrong> {
    if matches!(value, ".*" | ".+") {
        return Err(Wrong::new("a name alone stands for any value").instead(name));
    }
    let Some(sign) = ["^", ".*"].into_iter().find(|sign| value.starts_with(sign)) else {
        return Ok(());
    };
    let wrong = belongs_to_expressions(sign);
    Err(match whole(value) {
        Some(whole) => wrong.instead(format!("{before}~ {whole}")),
        None => wrong,
    })
}
