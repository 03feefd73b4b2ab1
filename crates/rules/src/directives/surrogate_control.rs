//! `Surrogate-Control` (Edge Architecture Specification, W3C Note of 4 August 2001, section 2.2): older than RFC 9213, and a list as
//! `Cache-Control` is, with names in any case.

use super::{
    ResponseDirectives, least,
    list::{self, Argument, Directive},
};
use crate::{
    fields::{has, is_tchar},
    surrogate::CONTROL,
};
use http::HeaderMap;

/// What the field says of caching; `None` where it says nothing of that (`content="ESI/1.0"` alone).
///
/// Its own directives are `no-store`, and `max-age`, behind which `+` says for how long a stale response may still be sent. Those of
/// `Cache-Control` count too, as applications write them. Parameters say which surrogate is meant, and we are the only one that
/// reads it here.
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

/// Parameters belong to what they stand behind.
const fn is_word(byte: u8) -> bool {
    is_tchar(byte) || byte == b';'
}

fn add(directives: &mut ResponseDirectives, directive: &Directive<'_>) {
    let before = |text, end| list::split_where(text, |byte| byte == end);
    let (name, parameter) = before(directive.name, b';');
    let mut argument = directive.argument;
    if !parameter.is_empty() {
        // It is the parameter's.
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
