//! Patterns over hosts and paths.

use super::{Word, Wrong};
use proxy::policy::{HostPattern, PathPattern};
use regex::{Regex, RegexBuilder};

/// Compiled size of one regular expression at most, in bytes.
const LARGEST_REGEX: usize = 1 << 20;

impl Word for HostPattern {
    const WHAT: &'static str = "a host";
    const EXAMPLES: &'static [&'static str] = &["example.com", "*.example.com", "*"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let lower = text.trim_end_matches('.').to_ascii_lowercase();
        let (suffix, name) = match lower.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, lower.as_str()),
        };
        if let Some((_, rest)) = name.split_once("://") {
            let host = rest.split('/').next().unwrap_or_default();
            return Err(Wrong::new("a host has no scheme").instead(host));
        }
        if let Some((host, _)) = name.split_once('/') {
            return Err(Wrong::new("a host has no path").instead(host));
        }
        if let Some((host, port)) = name.rsplit_once(':')
            && !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && (!host.contains(':') || host.ends_with(']'))
        {
            return Err(
                Wrong::new("a host has no port: it is the same on all of them").instead(host),
            );
        }
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if name.is_empty() || !name.bytes().all(valid) {
            return Err(Wrong::new(format!("`{text}` is not a host")).as_in(Self::EXAMPLES));
        }
        Ok(if suffix {
            Self::Suffix(name.to_owned())
        } else {
            Self::Exact(name.to_owned())
        })
    }
}

impl Word for PathPattern {
    const WHAT: &'static str = "a path";
    const EXAMPLES: &'static [&'static str] = &[
        "/api/*",
        "/exact",
        "/users/*/orders",
        "*.css",
        r"~ /v[0-9]+/.*",
    ];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Some(pattern) = text.strip_prefix("~*") {
            let whole = whole_path(pattern.trim_start());
            return Err(
                Wrong::new("upper and lower case are the same where `(?i)` says so")
                    .instead(format!("~ (?i){whole}")),
            );
        }
        if let Some(pattern) = text.strip_prefix('~') {
            return path_regex(pattern.trim_start()).map(Self::Regex);
        }
        if text.starts_with('^') {
            let whole = whole_path(text);
            return Err(
                Wrong::new("a regular expression begins with `~`").instead(format!("~ {whole}"))
            );
        }
        if !text.starts_with(['/', '*']) {
            return Err(Wrong::new("a path begins with `/`").instead(format!("/{text}")));
        }
        if text.contains(['?', '#']) {
            let path = text.split(['?', '#']).next().unwrap_or_default();
            return Err(Wrong::new("a path has no query: match it with `query`").instead(path));
        }
        let text = rules::key::normalize(text);
        Ok(match text.split_once('*') {
            None => Self::Exact(text.into_owned()),
            Some((prefix, "")) if !prefix.is_empty() => Self::Prefix(prefix.to_owned()),
            Some(_) => Self::Wildcard(wildcard(&text)?),
        })
    }
}

/// A regular expression over the whole path. One that cannot match any path, because it cannot begin with `/`, was
/// probably meant to be searched for.
fn path_regex(pattern: &str) -> Result<Regex, Wrong> {
    let literal = pattern.starts_with(|first: char| first.is_ascii_alphanumeric())
        || pattern.starts_with("\\.");
    if literal {
        return Err(Wrong::new(
            "a regular expression covers the whole path, which begins with `/`",
        )
        .instead(format!("~ .*{pattern}")));
    }
    let is_open = pattern.starts_with('^') && !pattern.ends_with(['$', '*', '+']);
    if is_open {
        return Err(Wrong::new(
            "a regular expression covers the whole path, not its beginning alone",
        )
        .instead(format!("~ {}", whole_path(pattern))));
    }
    anchored(pattern)
}

/// An expression that is searched for in a path, as one that covers all of it.
fn whole_path(pattern: &str) -> String {
    let (before, rest) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => (".*", pattern),
    };
    match rest.strip_suffix('$') {
        Some(rest) => format!("{before}{rest}"),
        None => format!("{before}{rest}.*"),
    }
}

/// The expression for a path with `*` (within a segment) and `**` (across); a leading `*` goes across too.
fn wildcard(text: &str) -> Result<Regex, Wrong> {
    let mut pattern = String::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('*') {
        pattern.push_str(&regex::escape(literal));
        let tail = after.trim_start_matches('*');
        let across = tail.len() < after.len() || pattern.is_empty();
        pattern.push_str(if across { ".*" } else { "[^/]*" });
        rest = tail;
    }
    pattern.push_str(&regex::escape(rest));
    anchored(&pattern)
}

/// Compiles an expression that must cover the whole text.
pub(super) fn anchored(pattern: &str) -> Result<Regex, Wrong> {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(LARGEST_REGEX)
            .dot_matches_new_line(true)
            .build()
    };
    // On its own first, so that a message shows the pattern as it was written.
    build(pattern)
        .and_then(|_| build(&format!(r"\A(?:{pattern})\z")))
        .map_err(|error| Wrong::new(describe(&error)))
}

/// The reason in one line: the last of what `regex` says, which draws the pattern first.
fn describe(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("the regular expression is larger than {limit} bytes when compiled");
    }
    let text = error.to_string();
    let reason = text.lines().last().unwrap_or_default();
    let reason = reason.trim().trim_start_matches("error: ");
    format!("the regular expression is not valid: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &PathPattern, path: &str) -> bool {
        match pattern {
            PathPattern::Exact(exact) => exact == path,
            PathPattern::Prefix(prefix) => path.starts_with(prefix.as_str()),
            PathPattern::Wildcard(regex) | PathPattern::Regex(regex) => regex.is_match(path),
        }
    }

    #[test]
    fn paths() {
        for (pattern, path, wanted) in [
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("/a/*", "/a/b/c", true),
            ("/a/*", "/a", false),
            ("/a*", "/ab", true),
            ("/*", "/", true),
            ("/u/*/o", "/u/1/o", true),
            ("/u/*/o", "/u/1/2/o", false),
            ("/u/**/o", "/u/1/2/o", true),
            ("*.css", "/a/b.css", true),
            ("*.css", "/a/b.css.map", false),
            ("/a.b/*/c", "/aXb/1/c", false),
            ("~ /v[0-9]+/.*", "/v12/x", true),
            ("~ /v[0-9]+", "/v12/x", false),
            ("~ ^/v[0-9]+$", "/v12", true),
            ("~ /a|/b", "/bc", false),
        ] {
            let parsed = PathPattern::parse(pattern).unwrap();
            assert_eq!(matches(&parsed, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_no_path() {
        for (text, what, instead) in [
            ("api", "a path begins", Some("\"/api\"")),
            ("/a?b=c", "a path has no query", Some("\"/a\"")),
            (
                r"~ \.php$",
                "covers the whole path",
                Some(r#""~ .*\\.php$""#),
            ),
            ("~ ^/api", "not its beginning", Some("\"~ /api.*\"")),
            ("^/api", "begins with `~`", Some("\"~ /api.*\"")),
            (
                r"~* \.(png|jpg)$",
                "upper and lower case",
                Some(r#""~ (?i).*\\.(png|jpg)""#),
            ),
            ("~ /(", "unclosed group", None),
            (r"~ /\w{900}{900}", "larger than", None),
        ] {
            let wrong = PathPattern::parse(text).unwrap_err();
            assert!(wrong.what.contains(what), "{text}: {wrong}");
            assert_eq!(wrong.instead.as_deref(), instead, "{text}");
        }
    }

    #[test]
    fn hosts() {
        let shown = |text| HostPattern::parse(text).map(|host| format!("{host:?}"));
        assert_eq!(shown("Example.COM.").unwrap(), "Exact(\"example.com\")");
        assert_eq!(shown("*.example.com").unwrap(), "Suffix(\"example.com\")");
        assert_eq!(shown("*").unwrap(), "Any");
        for (text, instead) in [
            ("https://a.example/x", "\"a.example\""),
            ("a.example/x", "\"a.example\""),
            ("a.example:8080", "\"a.example\""),
            ("[::1]:80", "\"[::1]\""),
            ("a b", "\"example.com\""),
            ("*.", "\"example.com\""),
        ] {
            assert_eq!(
                shown(text).unwrap_err().instead.as_deref(),
                Some(instead),
                "{text}"
            );
        }
    }
}
