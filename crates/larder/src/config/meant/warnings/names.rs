//! Names of cookies and parameters that match less than their author may think: elsewhere, names are searched for.

use super::Sink;
use crate::config::{
    Fault,
    value::{CookiePattern, Many, QueryPattern, Text, alternatives, bare, flags, is_word, whole},
    written::{Defaults, Route},
};
use proxy::policy::{NamePattern, TextPattern};
use regex::Regex;
use std::ops::Range;

/// Warns of such names in routes and in what `policies` say of requests that bypass the store.
/// `source` is the text of the file.
pub(super) fn find(routes: &[&Route], policies: &[Defaults], source: &str, sink: &mut Sink<'_>) {
    let matched = routes.iter().filter_map(|route| route.cookie.as_ref());
    let tables = || policies.iter().filter_map(|policy| policy.bypass.as_ref());
    let bypassed = tables().flat_map(|bypass| {
        let bypass = &bypass.value;
        [&bypass.cookies, &bypass.misses_with, &bypass.sets]
    });
    for Text { value, span } in members(matched.chain(bypassed.flatten())) {
        let CookiePattern(pattern) = value;
        named(pattern, source, span, sink);
    }
    let matched = routes.iter().filter_map(|route| route.query.as_ref());
    let bypassed = tables().filter_map(|bypass| bypass.value.query.as_ref());
    for Text { value, span } in members(matched.chain(bypassed)) {
        let QueryPattern(pattern) = value;
        named(pattern, source, span, sink);
    }
}

fn members<'a, T: 'a>(lists: impl Iterator<Item = &'a Many<T>>) -> impl Iterator<Item = &'a T> {
    lists.flat_map(|list| &list.list)
}

fn named(pattern: &NamePattern, source: &str, span: &Range<usize>, sink: &mut Sink<'_>) {
    match &pattern.name {
        TextPattern::Exact(name) => valued(name, pattern.value.as_ref(), span, sink),
        TextPattern::Prefix(prefix) => dotted(prefix, span, sink),
        TextPattern::Regex(regex) | TextPattern::CookieRegex { written: regex, .. } => {
            let written = source.get(span.clone()).unwrap_or_default();
            dotted_within(written.trim_matches(['"', '\'']), span, sink);
            words(bare(regex.as_str()), span, sink);
        }
    }
}

/// Warns of an empty value, which is hardly ever sent.
fn valued(name: &str, value: Option<&Regex>, span: &Range<usize>, sink: &mut Sink<'_>) {
    if value.is_some_and(|value| bare(value.as_str()).is_empty()) {
        let what = format!("`{name}=` matches an empty value alone");
        let instead =
            format!("write `{name}` for any value, or `{name}=~ ^$` if an empty one is meant");
        sink.warn(Fault::at(span, what).instead(instead));
    }
}

/// Warns of a name such as `session.*`, which in an expression is all that begins with `session`. With another dot in it,
/// dots are part of the name.
fn dotted(prefix: &str, span: &Range<usize>, sink: &mut Sink<'_>) {
    let begun = prefix.strip_suffix('.').filter(|name| !name.contains('.'));
    if let Some(name) = begun {
        let what = format!("`{prefix}*` matches only what begins with `{prefix}`");
        let instead = format!(
            "write `{name}*` for all that begins with `{name}`, or `~ {name}[.].*` if the dot is meant"
        );
        sink.warn(Fault::at(span, what).instead(instead));
    }
}

/// Warns of a name such as `a.*b`, where no other dot is in it. As [`dotted`].
fn dotted_within(written: &str, span: &Range<usize>, sink: &mut Sink<'_>) {
    let name = written.split('=').next().unwrap_or_default();
    let Some((before, behind)) = name.split_once(".*") else {
        return;
    };
    let has_other = before.contains('.') || behind.contains('.');
    if has_other || name.starts_with('~') {
        return;
    }
    let what = format!("`{name}` matches only what begins with `{before}.`");
    let instead = format!(
        "write `{before}*{behind}` for anything between `{before}` and `{behind}`, or `~ {before}[.].*{behind}` if the dot is meant"
    );
    sink.warn(Fault::at(span, what).instead(instead));
}

/// Warns of an expression that is nothing but one or several words, perhaps with a dot for any character, as a search for
/// them would be.
fn words(expression: &str, span: &Range<usize>, sink: &mut Sink<'_>) {
    let (flags, begun) = flags(expression);
    let is_searched = |one: &str| is_word(&one.replace('.', "_"));
    if !alternatives(begun).into_iter().all(is_searched) {
        return;
    }
    let Some(whole) = whole(begun) else {
        return;
    };
    let what = format!("`~ {expression}` matches whole names, and none that has more in it");
    let instead = format!(
        "write `~ {flags}{whole}` for all names with that in them, or `~ {flags}^({begun})$` if whole names are meant"
    );
    sink.warn(Fault::at(span, what).instead(instead));
}
