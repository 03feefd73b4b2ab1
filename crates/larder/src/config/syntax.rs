//! Text that is not TOML, and what was probably meant.

use super::{Fault, schema::View};
use std::ops::Range;

/// The fault that the parser met in `text`, of which `schema` knows the keys.
pub(super) fn fault(text: &str, error: &toml::de::Error, schema: View<'_>) -> Fault {
    let message = error.message().lines().next().unwrap_or_default();
    let (what, expected) = message
        .split_once(", expected ")
        .unwrap_or((message, "nothing"));
    let what = format!("this is not TOML: {what}");
    let Some(span) = error.span() else {
        return Fault::anywhere(what);
    };
    let fault = Fault::at(&span, what);
    if is_duplicate(error) {
        return fault.instead("leave out one of them");
    }
    match (pair(text, &span), expected) {
        (Some((key, value)), _) => fault.instead(match switch(key, value, schema) {
            Some(switch) => format!("write `{key} = {switch}`"),
            None => format!("text stands in quotes: write `{key} = \"{value}\"`"),
        }),
        (None, "nothing") => fault,
        (None, expected) => fault.instead(format!("{expected} belongs here")),
    }
}

/// Whether the text can be read but for a key that stands there twice: all others are where they are.
pub(super) fn is_duplicate(error: &toml::de::Error) -> bool {
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

/// Key and value of the line around `span`, where the value is text without quotes.
fn pair<'t>(text: &'t str, span: &Range<usize>) -> Option<(&'t str, &'t str)> {
    let before = text.get(..span.start)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let bare = !value.is_empty() && !value.contains(['"', '\'', '[', ']', '{', '}']);
    bare.then(|| (key.trim(), value))
}
