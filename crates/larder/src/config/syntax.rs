//! Text that is not TOML, and what was probably meant.

use super::Fault;
use std::ops::Range;

/// The fault that the parser met in `text`.
pub(super) fn fault(text: &str, error: &toml::de::Error) -> Fault {
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
    match (quoted(text, &span), expected) {
        (Some(instead), _) => fault.instead(format!("text stands in quotes: write `{instead}`")),
        (None, "nothing") => fault,
        (None, expected) => fault.instead(format!("{expected} belongs here")),
    }
}

/// Whether the text can be read but for a key that stands there twice: all others are where they are.
pub(super) fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message().starts_with("duplicate key")
}

/// The line around `span` with its value in quotes, where it lacks them and this is what it looks like.
fn quoted(text: &str, span: &Range<usize>) -> Option<String> {
    let before = text.get(..span.start)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let bare = !value.is_empty() && !value.contains(['"', '\'', '[', ']', '{', '}']);
    bare.then(|| format!("{} = \"{value}\"", key.trim()))
}
