//! Writes matchers of requests as they are in a configuration.

use crate::config::value::{IGNORING_CASE, bare, ignores_case};
use proxy::policy::{FieldPattern, HostPattern, Matcher, NamePattern, PathPattern, TextPattern};
use regex::Regex;

/// Writes what a route matches.
pub(super) fn matches(matcher: &Matcher) -> String {
    let mut parts = Vec::new();
    let mut say = |what: &str, list: Vec<String>| {
        if !list.is_empty() {
            parts.push(format!("{what} {}", list.join(" or ")));
        }
    };
    say("host", matcher.hosts.iter().map(host).collect());
    say("path", matcher.paths.iter().map(path).collect());
    say(
        "method",
        matcher.methods.iter().map(ToString::to_string).collect(),
    );
    say("header", matcher.headers.iter().map(field).collect());
    say("cookie", matcher.cookies.iter().map(named).collect());
    say("parameter", matcher.query.iter().map(named).collect());
    say(
        "client",
        matcher.clients.iter().map(ToString::to_string).collect(),
    );
    if parts.is_empty() {
        "everything".to_owned()
    } else {
        parts.join(", ")
    }
}

fn host(host: &HostPattern) -> String {
    match host {
        HostPattern::Exact(host) => host.clone(),
        HostPattern::Suffix(host) => format!("*.{host}"),
        HostPattern::Any => "*".to_owned(),
    }
}

pub(super) fn path(path: &PathPattern) -> String {
    match path {
        PathPattern::Exact(path) => path.clone(),
        PathPattern::Prefix(path) => format!("{path}*"),
        PathPattern::Wildcard(regex) | PathPattern::Regex(regex) => expression(regex.as_str()),
    }
}

/// Writes a header field, with its value if the value matters.
pub(super) fn field(field: &FieldPattern) -> String {
    let Some(wanted) = &field.value else {
        return field.name.to_string();
    };
    let value = if ignores_case(&field.name) {
        let ignoring = bare(wanted.as_str()).strip_prefix(IGNORING_CASE);
        let text = ignoring.and_then(stars);
        text.unwrap_or_else(|| expression(wanted.as_str()))
    } else {
        value(wanted)
    };
    format!("{}: {value}", field.name)
}

/// Writes a cookie or parameter, with its value if the value matters.
pub(super) fn named(pattern: &NamePattern) -> String {
    let name = match &pattern.name {
        TextPattern::Exact(name) => name.clone(),
        TextPattern::Prefix(name) => format!("{name}*"),
        TextPattern::Regex(regex) | TextPattern::CookieRegex { written: regex, .. } => value(regex),
    };
    match &pattern.value {
        Some(wanted) => format!("{name}={}", value(wanted)),
        None => name,
    }
}

/// Writes an expression as it was configured: one that matches a whole text was anchored when it was read.
pub(super) fn expression(regex: &str) -> String {
    format!("~ {}", bare(regex))
}

/// Writes text with stars if that was configured, otherwise the expression.
fn value(regex: &Regex) -> String {
    stars(bare(regex.as_str())).unwrap_or_else(|| expression(regex.as_str()))
}

/// The text with stars from which this expression was made, if there was one.
fn stars(expression: &str) -> Option<String> {
    let mut text = String::with_capacity(expression.len());
    let mut rest = expression;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(".*") {
            text.push('*');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("(?:") {
            // One letter of a parameter in its two spellings.
            let (spellings, after) = after
                .split_once(')')
                .filter(|(inner, _)| inner.len() <= 6)?;
            let (plain, coded) = spellings.split_once('|')?;
            text.push(if coded == "%20" {
                ' '
            } else {
                plain.chars().next_back()?
            });
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\\') {
            let literal = after.chars().next().filter(|one| !one.is_alphanumeric())?;
            text.push(literal);
            rest = after.get(literal.len_utf8()..)?;
        } else if ".+*?()|[]{}^$".contains(letter) {
            return None;
        } else {
            text.push(letter);
            rest = rest.get(letter.len_utf8()..)?;
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::{CookiePattern, QueryPattern, Word};

    #[test]
    fn patterns_are_told_as_they_are_written() {
        for text in [
            "session",
            "wp_*",
            "a*b",
            "preview=1",
            "a=*x.y*",
            "~ (dev|test)_.*",
            "a=~ [0-9]+",
        ] {
            let CookiePattern(pattern) = CookiePattern::parse(text).unwrap();
            assert_eq!(named(&pattern), text);
        }
        for text in ["page[]", "a b=c/d", "page", "utm_*", "x=~ .+"] {
            let QueryPattern(pattern) = QueryPattern::parse(text).unwrap();
            assert_eq!(named(&pattern), text);
        }
        for text in [
            "Accept: *json*",
            "Accept: ~ .*json.*",
            "Accept: ~ (?i)a|b",
            "X-A",
            "X-A: *b*",
            "User-Agent: ~ .*[Bb]ot.*",
        ] {
            let wanted = text
                .split_once(':')
                .map_or(text.to_lowercase(), |(name, rest)| {
                    format!("{}:{rest}", name.to_lowercase())
                });
            assert_eq!(field(&FieldPattern::parse(text).unwrap()), wanted);
        }
        let wild = PathPattern::parse("/a/*/b.css").unwrap();
        assert_eq!(path(&wild), r"~ /a/[^/]*/b\.css");
    }
}
