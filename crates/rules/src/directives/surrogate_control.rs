//! `Surrogate-Control` (Edge Architecture Specification, W3C Note of 4 August 2001, section 2.2). It is older than RFC
//! 9213, and is a list like `Cache-Control`, with names in any case.

use super::{
    ResponseDirectives, least,
    list::{self, Argument, Directive},
};
use crate::{
    fields::{has, is_tchar},
    surrogate::CONTROL,
};
use http::HeaderMap;

/// Reads what the field says about caching; `None` if it says nothing about that (`content="ESI/1.0"` alone).
///
/// The field's own directives are `no-store` and `max-age`. A `+` after the lifetime of `max-age` says for how long a
/// stale response may still be sent. The directives of `Cache-Control` count too, because applications write them here.
/// Parameters say which surrogate is meant; we are the only one that reads the field here, so they are ignored.
pub(super) fn read(fields: &HeaderMap) -> Option<ResponseDirectives> {
    if !has(fields, &CONTROL) {
        return None;
    }
    let mut directives = ResponseDirectives::default();
    for line in fields.get_all(CONTROL) {
        for directive in list::of_words(line.as_bytes(), is_word) {
            add(&mut directives, &directive);
        }
    }
    (directives != ResponseDirectives::default()).then_some(directives)
}

/// Whether a byte belongs to a name or an argument. `;` does: parameters belong to what they follow.
const fn is_word(byte: u8) -> bool {
    is_tchar(byte) || byte == b';'
}

fn add(directives: &mut ResponseDirectives, directive: &Directive<'_>) {
    let before = |text, end| list::split_where(text, |byte| byte == end);
    let (name, parameter) = before(directive.name, b';');
    let mut argument = directive.argument;
    if !parameter.is_empty() {
        // The argument is the parameter's.
        argument = Argument::Absent;
    }
    let mut extension = None;
    if name.eq_ignore_ascii_case(b"max-age")
        && let Some(text) = argument.text()
    {
        let (text, _) = before(text, b';');
        let (lifetime, more) = before(text, b'+');
        argument = Argument::Text(lifetime);
        extension = more.strip_prefix(b"+").and_then(list::delta_seconds);
    }
    directives.add(&Directive { name, argument });
    least(&mut directives.stale_while_revalidate, extension);
    least(&mut directives.stale_if_error, extension);
}
