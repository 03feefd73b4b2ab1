//! What a route matches, and whether another route already matches it.

use super::{Sink, settings::values};
use crate::config::{
    Fault,
    value::{CookiePattern, Many, QueryPattern, Text},
    written::Route,
};
use proxy::{
    policy::{FieldPattern, HostPattern, Matcher, NamePattern, PathPattern, TextPattern},
    routing::takes_in,
};
use regex::Regex;
use std::ops::Range;

/// The keys of matchers.
pub(super) const KEYS: [&str; 7] = [
    "host", "path", "method", "header", "cookie", "query", "client",
];

pub(super) fn build(written: &Route) -> Matcher {
    Matcher {
        hosts: values(written.host.as_ref()),
        paths: values(written.path.as_ref()),
        methods: values(written.method.as_ref()),
        headers: values(written.header.as_ref()),
        cookies: cookies(written.cookie.as_ref()),
        query: parameters(written.query.as_ref()),
        clients: values(written.client.as_ref()),
    }
}

pub(super) fn cookies(written: Option<&Many<Text<CookiePattern>>>) -> Vec<NamePattern> {
    let patterns = values(written).into_iter();
    patterns.map(|CookiePattern(pattern)| pattern).collect()
}

pub(super) fn parameters(written: Option<&Many<Text<QueryPattern>>>) -> Vec<NamePattern> {
    let patterns = values(written).into_iter();
    patterns.map(|QueryPattern(pattern)| pattern).collect()
}

/// Reports empty lists, of which no member can match.
pub(super) fn empty_lists(written: &Route, sink: &mut Sink<'_>) {
    fn empty<T>(list: Option<&Many<T>>) -> Option<&Range<usize>> {
        list.filter(|list| list.list.is_empty())
            .map(|list| &list.span)
    }
    let lists = [
        ("host", empty(written.host.as_ref())),
        ("path", empty(written.path.as_ref())),
        ("method", empty(written.method.as_ref())),
        ("header", empty(written.header.as_ref())),
        ("cookie", empty(written.cookie.as_ref())),
        ("query", empty(written.query.as_ref())),
        ("client", empty(written.client.as_ref())),
    ];
    for (key, span) in lists {
        if let Some(span) = span {
            // A faulty member may have been removed from it.
            sink.missing(
                &[key],
                Fault::at(
                    span,
                    format!("`{key}` is empty: does every request match, or none?"),
                )
                .instead(format!("leave `{key}` out to match every request")),
            );
        }
    }
}

/// Whether it matches every request.
pub(super) fn everything(matcher: &Matcher) -> bool {
    let Matcher {
        hosts,
        paths,
        methods,
        headers,
        cookies,
        query,
        clients,
    } = matcher;
    let any_host = |host: &HostPattern| matches!(host, HostPattern::Any);
    (hosts.is_empty() || hosts.iter().any(any_host))
        && any_path(paths)
        && methods.is_empty()
        && headers.is_empty()
        && cookies.is_empty()
        && query.is_empty()
        && clients.is_empty()
}

/// Whether every path matches: none is asked for, or `/*`, which is for `OPTIONS *` too.
fn any_path(paths: &[PathPattern]) -> bool {
    let is_any = |path: &PathPattern| matches!(path, PathPattern::Prefix(prefix) if prefix == "/");
    paths.is_empty() || paths.iter().any(is_any)
}

/// Whether `wide` certainly matches whatever `narrow` does. Two expressions cover each other only if they are the same.
pub(super) fn covers(wide: &Matcher, narrow: &Matcher) -> bool {
    all(&wide.hosts, &narrow.hosts, host)
        && (any_path(&wide.paths) || all(&wide.paths, &narrow.paths, path))
        && all(&wide.methods, &narrow.methods, takes_in)
        && all(&wide.headers, &narrow.headers, field)
        && all(&wide.cookies, &narrow.cookies, cookie)
        && all(&wide.query, &narrow.query, named)
        && all(&wide.clients, &narrow.clients, |wide, narrow| {
            wide.contains(narrow)
        })
}

/// Whether a member of `wide` covers each member of `narrow`. An empty list matches everything.
fn all<T>(wide: &[T], narrow: &[T], covers: impl Fn(&T, &T) -> bool) -> bool {
    let is_covered = |one: &T| wide.iter().any(|wide| covers(wide, one));
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(is_covered)
}

fn host(wide: &HostPattern, narrow: &HostPattern) -> bool {
    match (wide, narrow) {
        (HostPattern::Any, _) => true,
        (_, HostPattern::Exact(name)) => wide.matches(name),
        // What is below a host below `own` is below `own` too.
        (HostPattern::Suffix(own), HostPattern::Suffix(name)) => own == name || wide.matches(name),
        // A suffix does not match its own name.
        (HostPattern::Exact(_), HostPattern::Suffix(_)) | (_, HostPattern::Any) => false,
    }
}

fn path(wide: &PathPattern, narrow: &PathPattern) -> bool {
    match (wide, narrow) {
        (_, PathPattern::Exact(path)) => wide.matches(path),
        (PathPattern::Prefix(wide), PathPattern::Prefix(narrow)) => {
            narrow.starts_with(wide.as_str())
        }
        (
            PathPattern::Wildcard(wide) | PathPattern::Regex(wide),
            PathPattern::Wildcard(narrow) | PathPattern::Regex(narrow),
        ) => wide.as_str() == narrow.as_str(),
        _ => false,
    }
}

fn field(wide: &FieldPattern, narrow: &FieldPattern) -> bool {
    wide.name == narrow.name && value(wide.value.as_ref(), narrow.value.as_ref())
}

/// Case does not count in the names of cookies.
fn cookie(wide: &NamePattern, narrow: &NamePattern) -> bool {
    let is_covered = match &narrow.name {
        TextPattern::Exact(name) => wide.name.matches_in_any_case(name),
        TextPattern::Prefix(_) | TextPattern::Regex(_) | TextPattern::CookieRegex { .. } => false,
    };
    named(wide, narrow) || is_covered && value(wide.value.as_ref(), narrow.value.as_ref())
}

fn named(wide: &NamePattern, narrow: &NamePattern) -> bool {
    let names = match (&wide.name, &narrow.name) {
        (_, TextPattern::Exact(name)) => wide.name.matches(name),
        (TextPattern::Prefix(wide), TextPattern::Prefix(narrow)) => {
            narrow.starts_with(wide.as_str())
        }
        (TextPattern::Regex(wide), TextPattern::Regex(narrow))
        | (
            TextPattern::CookieRegex { written: wide, .. },
            TextPattern::CookieRegex {
                written: narrow, ..
            },
        ) => wide.as_str() == narrow.as_str(),
        _ => false,
    };
    names && value(wide.value.as_ref(), narrow.value.as_ref())
}

fn value(wide: Option<&Regex>, narrow: Option<&Regex>) -> bool {
    wide.is_none_or(|wide| narrow.is_some_and(|narrow| wide.as_str() == narrow.as_str()))
}
