//! Patterns over headers and cookies.

use super::{
    Word, Wrong,
    field::but_host,
    foreign,
    pattern::{anchored, in_any_case, of_value, of_whole},
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
            foreign::value(&format!("{name}: "), name, value)?;
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
        if !text.starts_with('~') {
            one_cookie(text)?;
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

/// Refuses what is no cookie, or several, and an empty value, with which hardly any client sends one.
fn one_cookie(text: &str) -> Result<(), Wrong> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    if let Some((field, cookie)) = text.split_once(':').filter(|_| name.contains(':')) {
        let wrong = Wrong::new("the name of a cookie has no `:`");
        if field.trim().eq_ignore_ascii_case("cookie") {
            return Err(wrong.instead_if_good::<CookiePattern>(cookie.trim()));
        }
        if cookie.starts_with(' ') {
            let meant = format!("{field}={}", cookie.trim());
            return Err(wrong.instead_if_good::<CookiePattern>(&meant));
        }
    }
    foreign::choice::<CookiePattern>(text, name)?;
    let is_between = |letter: char| letter == ',' || letter.is_whitespace();
    if text.contains(';') || name.contains(is_between) {
        let wrong = Wrong::new(
            "the name of a cookie has no white space, `,` or `;`: write several cookies as a list",
        );
        let all: Vec<_> = if text.contains(';') {
            text.split(';').map(str::trim).collect()
        } else {
            text.split(is_between).collect()
        };
        return Err(wrong.instead_all::<CookiePattern>(all.into_iter()));
    }
    foreign::name::<CookiePattern>(text, name)?;
    if value == Some("") {
        let what = "the name alone stands for any value (for an empty one, write `=~ ^$`)";
        return Err(Wrong::new(what).instead_if_good::<CookiePattern>(name));
    }
    Ok(())
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
    let pattern = |value| {
        foreign::value(&format!("{name}="), name, value)?;
        value_pattern(&format!("{name}="), value, false)
    };
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
    if pattern.contains('=') {
        return Err(
            Wrong::new("this regular expression matches only the name").instead("name=~ value")
        );
    }
    of_whole("name", "", pattern, false)
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
mod tests;
