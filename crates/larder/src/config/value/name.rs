//! Patterns over headers and cookies.

use super::{
    Word, Wrong,
    pattern::{anchored, expression, in_any_case, of_value},
    token::but_host,
    variable::stands_alone,
};
use http::{HeaderName, header};
use proxy::policy::{FieldPattern, HostPattern, NamePattern, TextPattern};
use regex::Regex;

impl Word for FieldPattern {
    const WHAT: &'static str = "a header";
    const EXAMPLES: &'static [&'static str] = &[
        "Bypass-Cache",
        "Bypass-Cache: 1",
        "Accept: *json*",
        "User-Agent: ~ .*[Bb]ot.*",
    ];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let is_host = |value: &&str| HostPattern::parse(value).is_ok();
        let host = value.filter(is_host).unwrap_or("a.example");
        let field = but_host(
            name,
            &format!(
                "HTTP/2 has no header `Host`: write a route with `host = {host:?}`, which may have `cache = false`"
            ),
        )?;
        let pattern = |value: &str| {
            if ignores_case(&field) && !value.starts_with('~') {
                anchored(&format!("{IGNORING_CASE}{}", starred(value)))
            } else {
                value_pattern(&format!("{name}: "), value, field == header::USER_AGENT)
            }
        };
        let value = value.map(pattern).transpose()?;
        Ok(Self { name: field, value })
    }
}

/// Begins an expression that matches in upper and lower case alike.
pub const IGNORING_CASE: &str = "(?i)";

/// Whether case does not count in a field's values: media types, codings, charsets and languages (RFC 9110 section 8).
pub fn ignores_case(field: &HeaderName) -> bool {
    matches!(*field, header::ACCEPT | header::CONTENT_TYPE) || field.as_str().starts_with("accept-")
}

/// A pattern over cookies.
#[derive(Clone, Debug)]
pub struct CookiePattern(pub NamePattern);

impl Word for CookiePattern {
    const WHAT: &'static str = "the name of a cookie, and a value where it matters";
    const EXAMPLES: &'static [&'static str] = &[
        "session",
        "wordpress_logged_in_*",
        "preview=1",
        "~ (dev|test)_.*",
    ];

    fn parse(text: &str) -> Result<Self, Wrong> {
        stands_alone::<Self>(text, "cookie_")?;
        if !text.starts_with('~')
            && let Some((first, _)) = text.split_once(';')
        {
            let wrong = Wrong::new("a cookie has no `;`: write several cookies as a list");
            return Err(wrong.instead_if_good::<Self>(first.trim()));
        }
        let mut pattern = name_and_value(text)?;
        if let TextPattern::Regex(written) = pattern.name {
            pattern.name = TextPattern::CookieRegex {
                in_any_case: in_any_case(&written)?,
                written,
            };
        }
        Ok(Self(pattern))
    }
}

/// Reads a name, and a value if there is one. Case counts in an expression for the name.
pub(super) fn name_and_value(text: &str) -> Result<NamePattern, Wrong> {
    if let Some(pattern) = text.strip_prefix('~') {
        let name = TextPattern::Regex(of_name(pattern.trim_start())?);
        return Ok(NamePattern { name, value: None });
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let pattern = |value| value_pattern(&format!("{name}="), value, false);
    let value = value.map(pattern).transpose()?;
    let name = match name.split_once('*') {
        _ if name.is_empty() => return Err(Wrong::new("the name is empty")),
        None => TextPattern::Exact(name.to_owned()),
        Some((prefix, "")) => TextPattern::Prefix(prefix.to_owned()),
        Some(_) => TextPattern::Regex(stars(name)?),
    };
    Ok(NamePattern { name, value })
}

/// Compiles an expression for names. An expression over name and value would hardly ever match.
fn of_name(pattern: &str) -> Result<Regex, Wrong> {
    let regex = expression("", pattern, "name")?;
    if pattern.contains('=') {
        return Err(
            Wrong::new("this regular expression matches only the name").instead("name=~ value")
        );
    }
    Ok(regex)
}

/// Compiles a value: literal text, `*` for anything, or `~` and a regular expression. It always covers the whole value.
/// `before` is the text before it; `is_long` as for [`of_value`].
fn value_pattern(before: &str, text: &str, is_long: bool) -> Result<Regex, Wrong> {
    match text.strip_prefix('~') {
        Some(pattern) => of_value(before, pattern.trim_start(), is_long),
        None => stars(text),
    }
}

/// Compiles text in which `*` stands for anything.
fn stars(text: &str) -> Result<Regex, Wrong> {
    anchored(&starred(text))
}

fn starred(text: &str) -> String {
    let parts: Vec<String> = text.split('*').map(regex::escape).collect();
    parts.join(".*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_that_would_hardly_match() {
        let instead = |wrong: Wrong| wrong.instead.unwrap();
        for (pattern, meant) in [
            ("~ ^wordpress_", "~ wordpress_.*"),
            ("~ (?i)^wp|^sess", "~ (?i)wp.*|sess.*"),
            ("~ ab=B", "name=~ value"),
            ("~ session=.*", "name=~ value"),
            ("group=~ ^admin", "group=~ admin.*"),
            ("~* x", "~ (?i).*x.*"),
            ("~* ^x$", "~ (?i)x"),
            ("group=~ admin", "group=~ .*admin.*"),
            ("group=~* admin", "group=~ (?i).*admin.*"),
        ] {
            let wrong = CookiePattern::parse(pattern).unwrap_err();
            assert_eq!(instead(wrong), format!("{meant:?}"), "{pattern}");
        }
        for (pattern, meant) in [
            ("User-Agent: ~ ^Mozilla", "User-Agent: ~ Mozilla.*"),
            ("User-Agent: ~* bot", "User-Agent: ~ (?i).*bot.*"),
            ("User-Agent: ~ bot", "User-Agent: ~ .*bot.*"),
            ("User-Agent: ~bot$", "User-Agent: ~ .*bot"),
            (
                "User-Agent: ~ (?i)bot|crawl",
                "User-Agent: ~ (?i).*bot.*|.*crawl.*",
            ),
            ("X-Kind: ~ bot", "X-Kind: ~ .*bot.*"),
            ("User-Agent :~(?i)^curl", "User-Agent: ~ (?i)curl.*"),
        ] {
            let wrong = FieldPattern::parse(pattern).unwrap_err();
            assert_eq!(instead(wrong), format!("{meant:?}"), "{pattern}");
        }
        for pattern in [
            "User-Agent: ~ ^Mozilla.*",
            "User-Agent: ~ ^bot$",
            "User-Agent: bot",
            "User-Agent: ~",
            "X-Requested-With: ~ (?i)xmlhttprequest",
            "X-Kind: ~ a|b",
        ] {
            assert!(FieldPattern::parse(pattern).is_ok(), "{pattern}");
        }
        for pattern in [
            "~ ^wordpress_.*",
            "~ ^a$",
            "~ (dev|test)_.*",
            "preview=~ [01]",
        ] {
            assert!(CookiePattern::parse(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn fields() {
        for (pattern, value, wanted) in [
            ("Bypass-Cache: 1", "1", true),
            ("Bypass-Cache: 1", "10", false),
            ("Bypass-Cache:1", "1", true),
            ("Accept: *json*", "application/json;q=1", true),
            ("Accept: *json*", "Application/JSON", true),
            ("Accept: *JSON*", "application/json", true),
            ("Accept: application/json", "application/JSON", true),
            ("Accept: application/json", "application/jsonp", false),
            ("accept-language: de*", "DE-at", true),
            ("Content-Type: text/*", "Text/HTML", true),
            ("Accept: ~ .*json.*", "application/JSON", false),
            ("Accept: ~ (?i).*json.*", "application/JSON", true),
            ("X-Accept: json", "JSON", false),
            ("User-Agent: ~ .*[Bb]ot.*", "a bot", true),
        ] {
            let field = FieldPattern::parse(pattern).unwrap();
            assert_eq!(field.value.unwrap().is_match(value), wanted, "{pattern}");
        }
        assert!(FieldPattern::parse("X-Debug").unwrap().value.is_none());
        FieldPattern::parse("X Debug: 1").unwrap_err();
        FieldPattern::parse("X-Debug: ~ (").unwrap_err();
    }

    #[test]
    fn a_host_is_not_matched_as_a_header() {
        for (pattern, meant) in [
            ("Host: a.test", "`host = \"a.test\"`"),
            ("host: *.a.test", "`host = \"*.a.test\"`"),
            ("HOST:~ a|b", "`host = \"a.example\"`"),
            ("Host", "`host = \"a.example\"`"),
        ] {
            let wrong = FieldPattern::parse(pattern).unwrap_err();
            assert!(wrong.what.contains(meant), "{pattern}: {wrong}");
        }
        FieldPattern::parse("X-Forwarded-Host: a.test").unwrap();
    }

    #[test]
    fn an_expression_for_the_name_of_a_cookie_matches_in_any_case() {
        for (pattern, name, wanted) in [
            ("~ sess.*", "SESSID", true),
            ("~ SESS.*", "sessid", true),
            ("a*id", "A-ID", true),
            ("~ (?-i)sess", "SESS", false),
            ("~ (?x) sess # id", "SESS", true),
            ("~ sess", "SESSID", false),
        ] {
            let CookiePattern(read) = CookiePattern::parse(pattern).unwrap();
            assert_eq!(read.name.matches_in_any_case(name), wanted, "{pattern}");
        }
        let CookiePattern(read) = CookiePattern::parse("~ sess.*").unwrap();
        assert!(!read.name.matches("SESSID"), "as it is written");
        let valued = CookiePattern::parse("group=~ admin.*").unwrap().0.value;
        assert!(!valued.unwrap().is_match("Admin"), "case counts in values");
    }

    #[test]
    fn names() {
        let shown = |text| CookiePattern::parse(text).map(|one| format!("{:?}", one.0.name));
        assert_eq!(shown("session").unwrap(), "Exact(\"session\")");
        assert_eq!(shown("wp_*").unwrap(), "Prefix(\"wp_\")");
        assert!(shown("~ a|b").unwrap().starts_with("CookieRegex"));
        assert!(shown("a*b").unwrap().starts_with("CookieRegex"));
        let CookiePattern(valued) = CookiePattern::parse("preview=1").unwrap();
        assert!(valued.value.unwrap().is_match("1"));
        shown("=1").unwrap_err();
        let wrong = shown("a;b").unwrap_err();
        assert_eq!(wrong.instead.as_deref(), Some("\"a\""), "{wrong}");
    }
}
