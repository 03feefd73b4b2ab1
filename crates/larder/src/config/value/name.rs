//! Patterns over headers, cookies and parameters.

use super::{
    Word, Wrong,
    path::{in_normal_form, normal},
    pattern::anchored,
};
use http::HeaderName;
use proxy::policy::{FieldPattern, NamePattern, TextPattern};
use regex::Regex;
use rules::key::ParamPattern;

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
            Some((name, value)) => (name, Some(value.trim())),
            None => (text, None),
        };
        Ok(Self {
            name: HeaderName::parse(name.trim())?,
            value: value.map(value_pattern).transpose()?,
        })
    }
}

/// Which cookies are meant.
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
        if !text.starts_with('~')
            && let Some((first, _)) = text.split_once(';')
        {
            let wrong = Wrong::new("one cookie ends at `;`: several are members of a list");
            return Err(wrong.instead_if_good::<Self>(first.trim()));
        }
        name_and_value(text).map(Self)
    }
}

/// Which parameters of the query are meant, as requests have them in normal form.
#[derive(Clone, Debug)]
pub struct QueryPattern(pub NamePattern);

impl Word for QueryPattern {
    const WHAT: &'static str = "the name of a parameter, and a value where it matters";
    const EXAMPLES: &'static [&'static str] = &["page", "utm_*", "preview=1", "~ (dev|test)_.*"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let pattern = text.strip_prefix('~').map(str::trim_start);
        let value = text.split_once("=~").map(|(_, value)| value.trim_start());
        match (pattern, value) {
            (Some(pattern), _) => in_normal_form("~ ", pattern)?,
            (None, Some(value)) => {
                let start = text.len() - value.len();
                in_normal_form(text.get(..start).unwrap_or_default(), value)?;
            }
            (None, None) => return name_and_value(&parameter::<Self>(text)?).map(Self),
        }
        name_and_value(text).map(Self)
    }
}

fn name_and_value(text: &str) -> Result<NamePattern, Wrong> {
    if let Some(pattern) = text.strip_prefix('~') {
        let name = TextPattern::Regex(anchored(pattern.trim_start())?);
        return Ok(NamePattern { name, value: None });
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let name = match name.split_once('*') {
        _ if name.is_empty() => return Err(Wrong::new("the name is empty")),
        None => TextPattern::Exact(name.to_owned()),
        Some((prefix, "")) => TextPattern::Prefix(prefix.to_owned()),
        Some(_) => TextPattern::Regex(stars(name)?),
    };
    Ok(NamePattern {
        name,
        value: value.map(value_pattern).transpose()?,
    })
}

/// What is written of a parameter, as requests have it.
fn parameter<T: Word>(text: &str) -> Result<String, Wrong> {
    let bare = text.trim_start_matches('?');
    if bare.len() < text.len() || text.contains(['&', '#']) {
        let first = bare.split(['&', '#']).next().unwrap_or_default();
        let wrong =
            Wrong::new("one parameter has no `?`, `&` and `#`: several are members of a list");
        return Err(wrong.instead_if_good::<T>(first));
    }
    if text.contains(' ') {
        return Err(Wrong::new(
            "a space is sent as `+` or as `%20`: an expression covers both, as in `~ a(\\+|%20)b`",
        ));
    }
    Ok(normal(text))
}

impl Word for ParamPattern {
    const WHAT: &'static str = "the name of a parameter";
    const EXAMPLES: &'static [&'static str] = &["page", "utm_*"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Some((name, _)) = text.split_once('=') {
            let wrong = Wrong::new("parameters are chosen by name, whatever their value");
            return Err(wrong.instead_if_good::<Self>(name));
        }
        let text = parameter::<Self>(text)?;
        match text.split_once('*') {
            _ if text.is_empty() => Err(Wrong::new("the name is empty")),
            None => Ok(Self::Name(text)),
            Some((prefix, "")) => Ok(Self::Prefix(prefix.to_owned())),
            Some((prefix, _)) => {
                Err(Wrong::new("`*` may only stand at the end here").instead(format!("{prefix}*")))
            }
        }
    }
}

/// A value: as it is, with `*` for anything, or `~` and a regular expression. Always the whole value.
fn value_pattern(text: &str) -> Result<Regex, Wrong> {
    match text.strip_prefix('~') {
        Some(pattern) => anchored(pattern.trim_start()),
        None => stars(text),
    }
}

/// Text in which `*` stands for anything.
fn stars(text: &str) -> Result<Regex, Wrong> {
    let parts: Vec<String> = text.split('*').map(regex::escape).collect();
    anchored(&parts.join(".*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        for (pattern, value, wanted) in [
            ("Bypass-Cache: 1", "1", true),
            ("Bypass-Cache: 1", "10", false),
            ("Bypass-Cache:1", "1", true),
            ("Accept: *json*", "application/json;q=1", true),
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
    fn names() {
        let shown = |text| CookiePattern::parse(text).map(|one| format!("{:?}", one.0.name));
        assert_eq!(shown("session").unwrap(), "Exact(\"session\")");
        assert_eq!(shown("wp_*").unwrap(), "Prefix(\"wp_\")");
        assert!(shown("~ a|b").unwrap().starts_with("Regex"));
        assert!(shown("a*b").unwrap().starts_with("Regex"));
        let CookiePattern(valued) = CookiePattern::parse("preview=1").unwrap();
        assert!(valued.value.unwrap().is_match("1"));
        shown("=1").unwrap_err();
        let wrong = shown("a;b").unwrap_err();
        assert_eq!(wrong.instead.as_deref(), Some("\"a\""), "{wrong}");
    }

    #[test]
    fn parameters_are_compared_as_clients_send_them() {
        let shown = |text| QueryPattern::parse(text).map(|one| format!("{:?}", one.0));
        for (text, same) in [("a%41", "aA"), ("größe=ü*", "gr%C3%B6%C3%9Fe=%C3%BC*")] {
            assert_eq!(shown(text).unwrap(), shown(same).unwrap());
        }
        for (text, instead) in [
            ("a&b", Some("\"a\"")),
            ("?a", Some("\"a\"")),
            ("a#b", Some("\"a\"")),
            ("&", None),
            ("a b", None),
            ("~ ü.*", Some("\"~ %C3%BC.*\"")),
            ("a=~ ü.*", Some("\"a=~ %C3%BC.*\"")),
        ] {
            let wrong = QueryPattern::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), instead, "{text}: {wrong}");
        }
    }

    #[test]
    fn parameters() {
        assert_eq!(
            <ParamPattern as Word>::parse("utm_*"),
            Ok(ParamPattern::Prefix("utm_".into()))
        );
        assert_eq!(
            <ParamPattern as Word>::parse("u*m")
                .unwrap_err()
                .instead
                .as_deref(),
            Some("\"u*\"")
        );
        let name = |text| <ParamPattern as Word>::parse(text);
        assert_eq!(name("ü"), Ok(ParamPattern::Name("%C3%BC".into())));
        for text in ["a&b", "a=1", "?a"] {
            let wrong = name(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some("\"a\""), "{text}: {wrong}");
        }
    }
}
