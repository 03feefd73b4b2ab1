//! Text that is not TOML, and what was probably meant.

use super::{Fault, bare, schema::View, value::quoted};
use std::{borrow::Cow, collections::BTreeSet, ops::Range};
use toml::de::DeTable;

/// Returns the faults that the parser found in `text`, whose keys `schema` knows. Only the first of each line is kept,
/// because the others follow from it.
pub(super) fn faults(text: &str, errors: &[toml::de::Error], schema: View<'_>) -> Vec<Fault> {
    let mut lines = BTreeSet::new();
    let mut is_first = |error: &&toml::de::Error| {
        let start = error.span().map(|span| span.start);
        start.is_none_or(|start| lines.insert(line_of(text, start).start))
    };
    let errors = errors.iter().filter(|error| is_first(error));
    errors.map(|error| fault(text, error, schema)).collect()
}

/// Returns `text` with the lines blanked out in which there are `errors`, or else the tables around them. `None` if
/// that cannot be read either. The parser's result would then be a guess, and faults found in it would mislead.
pub(super) fn readable<'t>(text: &'t str, errors: &[toml::de::Error]) -> Option<Cow<'t, str>> {
    let mut places = Vec::new();
    for error in errors.iter().filter(|error| !is_duplicate(error)) {
        places.push(error.span()?.start);
    }
    if places.is_empty() {
        return Some(Cow::Borrowed(text));
    }
    let lines: Vec<_> = places.iter().map(|place| line_of(text, *place)).collect();
    // Without its header, the content of a table would seem to belong to the table before.
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

/// Returns `text` with these ranges blanked out, so that everything else keeps its place.
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

/// The line of `text` that contains `place`, without its end.
fn line_of(text: &str, place: usize) -> Range<usize> {
    let before = text.get(..place).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let length = text.get(start..).and_then(|rest| rest.find('\n'));
    start..length.map_or(text.len(), |length| start + length)
}

/// Whether a table begins in this line, or may begin.
fn is_header(text: &str, line: &Range<usize>) -> bool {
    let line = text.get(line.clone()).unwrap_or_default();
    line.trim_start().starts_with('[')
}

/// The range from the header of the table that contains `place` to the next header.
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

/// Returns the fault for an error of the parser in `text`, whose keys `schema` knows.
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
    match (pair(text, &span, schema), expected) {
        (Some(Pair::Key), _) => {
            fault.instead("keys consist of `a` to `z`, `0` to `9`, `_` and `-`")
        }
        (Some(Pair::NoValue(key)), _) => Fault::at(&span, format!("`{key}` has no value"))
            .instead("write one, or leave out the line"),
        (Some(Pair::Bare(key, value, meant)), _) => {
            let quotes = if meant.contains('"') && !value.contains('"') {
                "text needs quotes: "
            } else {
                ""
            };
            fault.instead(format!("{quotes}write `{key} = {meant}`"))
        }
        (None, "nothing") => fault,
        (None, _) if message.starts_with("missing escaped value") => {
            let instead = literal(text, &span).map(|literal| format!(": write `{literal}`"));
            let instead = instead.unwrap_or_default();
            fault.instead(format!(
                "in single quotes, a `\\` stands for itself{instead}"
            ))
        }
        (None, _) if message.starts_with("string values must be quoted") => {
            let word = text.get(span).unwrap_or_default();
            fault.instead(format!("text needs quotes: write `{}`", quoted(word)))
        }
        (None, expected) => fault.instead(format!("{expected} belongs here")),
    }
}

/// Returns the string around `span` in single quotes.
fn literal(text: &str, span: &Range<usize>) -> Option<String> {
    let (line, place) = (line_of(text, span.start), span.start);
    let (_, before) = text.get(line.start..place)?.rsplit_once('"')?;
    let (after, _) = text.get(place..line.end)?.split_once('"')?;
    (!before.contains('\'') && !after.contains('\'')).then(|| format!("'{before}{after}'"))
}

/// Whether the error is only a duplicate key. The rest of the text can be read, and is in its place.
fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message().starts_with("duplicate key")
}

/// What is wrong with the key or the value of a line.
enum Pair<'t> {
    /// The key has characters that no key has.
    Key,
    /// Nothing follows the `=` of this key.
    NoValue(&'t str),
    /// The key, its value, and that as it was probably meant.
    Bare(&'t str, &'t str, String),
}

/// Returns what is wrong with the key or value of the line around `span`, if it is clear.
fn pair<'t>(text: &'t str, span: &Range<usize>, schema: View<'_>) -> Option<Pair<'t>> {
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
        () if is_in_table => None,
        () if span.start < start + key.len() => is_of_no_key.then_some(Pair::Key),
        () if value.is_empty() => Some(Pair::NoValue(key.trim())),
        () => {
            let key = key.trim();
            bare::meant(key, value, schema).map(|meant| Pair::Bare(key, value, meant))
        }
    }
}
