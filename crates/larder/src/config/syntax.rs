//! Text that is not TOML, and what was probably meant.

use super::{Fault, schema::View};
use std::{borrow::Cow, collections::BTreeSet, ops::Range};
use toml::de::DeTable;

/// The faults that the parser met in `text`, of which `schema` knows the keys: of each line the first, since the others follow from it.
pub(super) fn faults(text: &str, errors: &[toml::de::Error], schema: View<'_>) -> Vec<Fault> {
    let mut lines = BTreeSet::new();
    let mut is_first = |error: &&toml::de::Error| {
        let start = error.span().map(|span| span.start);
        start.is_none_or(|start| lines.insert(line_of(text, start).start))
    };
    let errors = errors.iter().filter(|error| is_first(error));
    errors.map(|error| fault(text, error, schema)).collect()
}

/// `text` with blanks for the lines in which there are `errors`, or else for the tables around them. `None` where that cannot be read
/// either: what the parser makes of it then is a guess, and faults found in it would mislead.
pub(super) fn readable<'t>(text: &'t str, errors: &[toml::de::Error]) -> Option<Cow<'t, str>> {
    let mut places = Vec::new();
    for error in errors.iter().filter(|error| !is_duplicate(error)) {
        places.push(error.span()?.start);
    }
    if places.is_empty() {
        return Some(Cow::Borrowed(text));
    }
    let lines: Vec<_> = places.iter().map(|place| line_of(text, *place)).collect();
    // Without its header, what is in a table would seem to be in the one before.
    let has_header = lines.iter().any(|line| is_header(text, line));
    let tables = || places.iter().map(|place| table_of(text, *place)).collect();
    let candidates = [(!has_header).then_some(lines), Some(tables())];
    let mut texts = candidates
        .into_iter()
        .flatten()
        .map(|out| blank(text, &out));
    texts.find(|text| can_be_read(text)).map(Cow::Owned)
}

fn can_be_read(text: &str) -> bool {
    let (_, errors) = DeTable::parse_recoverable(text);
    errors.iter().all(is_duplicate)
}

/// `text` with blanks in these places, so that all others stay where they are.
fn blank(text: &str, out: &[Range<usize>]) -> String {
    let mut left = String::with_capacity(text.len());
    for (index, letter) in text.char_indices() {
        if letter == '\n' || !out.iter().any(|place| place.contains(&index)) {
            left.push(letter);
        } else {
            left.extend(std::iter::repeat_n(' ', letter.len_utf8()));
        }
    }
    left
}

/// The line of `text` that `place` is in, without its end.
fn line_of(text: &str, place: usize) -> Range<usize> {
    let before = text.get(..place).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let length = text.get(start..).and_then(|rest| rest.find('\n'));
    start..length.map_or(text.len(), |length| start + length)
}

/// Whether a table begins in this line, or may.
fn is_header(text: &str, line: &Range<usize>) -> bool {
    let line = text.get(line.clone()).unwrap_or_default();
    line.trim_start().starts_with('[')
}

/// From the header of the table that `place` is in to the next one.
fn table_of(text: &str, place: usize) -> Range<usize> {
    let mut table = line_of(text, place);
    while table.start > 0 && !is_header(text, &table) {
        table.start = line_of(text, table.start - 1).start;
    }
    while table.end < text.len() {
        let next = line_of(text, table.end + 1);
        if is_header(text, &next) {
            break;
        }
        table.end = next.end;
    }
    table
}

/// The fault that the parser met in `text`, of which `schema` knows the keys.
fn fault(text: &str, error: &toml::de::Error, schema: View<'_>) -> Fault {
    let message = error.message().lines().next().unwrap_or_default();
    let (what, expected) = message
        .split_once(", expected ")
        .unwrap_or((message, "nothing"));
    let what = format!("this is not TOML: {what}");
    let Some(span) = error.span() else {
        return Fault::anywhere(what);
    };
    let fault = Fault::at(&span, what);
    if is_duplicate(error) || message.starts_with("extra ") {
        return fault.instead("leave out one of them");
    }
    match (pair(text, &span), expected) {
        (Some(Pair::Key), _) => {
            fault.instead("keys are made of `a` to `z`, `0` to `9`, `_` and `-`")
        }
        (Some(Pair::NoValue(key)), _) => Fault::at(&span, format!("`{key}` has no value"))
            .instead("write one, or leave out the line"),
        (Some(Pair::Bare(key, value)), _) => fault.instead(match switch(key, value, schema) {
            Some(switch) => format!("write `{key} = {switch}`"),
            None => format!("text stands in quotes: write `{key} = \"{value}\"`"),
        }),
        (None, "nothing") => fault,
        (None, expected) => fault.instead(format!("{expected} belongs here")),
    }
}

/// Whether the text can be read but for a key that stands there twice: all others are where they are.
fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message().starts_with("duplicate key")
}

/// What other languages write for `true` and `false`.
const SWITCHES: [(&str, bool); 6] = [
    ("true", true),
    ("yes", true),
    ("on", true),
    ("false", false),
    ("no", false),
    ("off", false),
];

/// What was meant by `value`, where `key` is one that is on or off.
fn switch(key: &str, value: &str, schema: View<'_>) -> Option<bool> {
    let last = key.rsplit('.').next()?.trim();
    let word = value.to_ascii_lowercase();
    let (_, switch) = SWITCHES.iter().find(|(known, _)| *known == word)?;
    schema.is_switch(last).then_some(*switch)
}

/// What is wrong with the key or the value of a line.
enum Pair<'t> {
    /// The key has letters that no key has.
    Key,
    /// Nothing stands behind the `=` of this key.
    NoValue(&'t str),
    /// Key and value, which is text without quotes.
    Bare(&'t str, &'t str),
}

/// What is wrong with key or value of the line around `span`, where that is plain.
fn pair<'t>(text: &'t str, span: &Range<usize>) -> Option<Pair<'t>> {
    let before = text.get(..span.start)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split('#').next()?.split_once('=')?;
    let value = value.trim();
    let letter = text.get(span.start..)?.chars().next();
    let is_of_no_key =
        letter.is_some_and(|letter| !(letter.is_ascii_alphanumeric() || "_-. \t".contains(letter)));
    let is_in_table = key.contains(['"', '\'', '[', '{']);
    match () {
        () if is_in_table || value.contains(['"', '\'', '[', ']', '{', '}']) => None,
        () if span.start < start + key.len() => is_of_no_key.then_some(Pair::Key),
        () if value.is_empty() => Some(Pair::NoValue(key.trim())),
        () => Some(Pair::Bare(key.trim(), value)),
    }
}
