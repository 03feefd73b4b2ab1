//! Patterns over the parameters of a query.

use super::{
    Word, Wrong, foreign,
    name::name_and_value,
    path::{in_normal_form, normal},
    pattern::{anchored, of_value},
    variable::stands_alone,
};
use proxy::policy::{NamePattern, TextPattern};
use regex::Regex;
use rules::key::ParamPattern;
use std::fmt::Write as _;

/// A pattern over the parameters of the query, in the normal form that requests have.
#[derive(Clone, Debug)]
pub struct QueryPattern(pub NamePattern);

impl Word for QueryPattern {
    const WHAT: &'static str = "the name of a parameter, and a value where it matters";
    const EXAMPLES: &'static [&'static str] = &["page", "utm_*", "preview=1", "~ (dev|test)_.*"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        stands_alone::<Self>(text, "arg_")?;
        if let Some(pattern) = text.strip_prefix('~').map(str::trim_start) {
            let named = name_and_value(text)?;
            in_normal_form("~ ", pattern)?;
            return Ok(Self(named));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let value = match value.map(|value| (value, value.strip_prefix('~'))) {
            None => None,
            Some((_, Some(pattern))) => {
                let pattern = pattern.trim_start();
                let start = text.len() - pattern.len();
                let regex = of_value(&format!("{name}="), pattern, false)?;
                in_normal_form(text.get(..start).unwrap_or_default(), pattern)?;
                Some(regex)
            }
            Some((value, None)) => {
                parameter::<Self>(text)?;
                foreign::value(&format!("{name}="), name, value)?;
                Some(spellings(value)?)
            }
        };
        let name = parameter::<Self>(name)?;
        foreign::choice::<Self>(text, name)?;
        one_name::<Self>(name)?;
        foreign::name::<Self>(text, name)?;
        let sent = normal(name);
        let name = if sent.is_empty() || has_one_spelling(&sent) {
            name_and_value(&sent)?.name
        } else {
            TextPattern::Regex(spellings(name)?)
        };
        Ok(Self(NamePattern { name, value }))
    }
}

/// Whether a part of a query in normal form, with stars, has only one spelling.
fn has_one_spelling(sent: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~*".contains(&byte);
    let mut parts = sent.split('%');
    let first = parts.next().unwrap_or_default();
    first.bytes().all(is_unreserved)
        && parts.all(|part| {
            part.starts_with(['8', '9', 'A', 'B', 'C', 'D', 'E', 'F'])
                && part.bytes().all(is_unreserved)
        })
}

/// Returns an expression for every spelling of `text`, a part of a query in which `*` stands for anything. A character
/// that need not be encoded may be encoded (RFC 3986 section 2.2), and a space is `+` or `%20`.
fn spellings(text: &str) -> Result<Regex, Wrong> {
    let sent = normal(text);
    let mut expression = String::with_capacity(sent.len());
    let mut rest = sent.as_str();
    while let Some(letter) = rest.chars().next() {
        let coded = rest.get(1..3).filter(|_| letter == '%');
        let byte = coded.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let length = if byte.is_some() { 3 } else { letter.len_utf8() };
        rest = rest.get(length..).unwrap_or_default();
        // In normal form, unreserved characters and those beyond ASCII have one spelling.
        match byte.or_else(|| u8::try_from(letter).ok()) {
            _ if byte.is_none() && letter == '*' => expression.push_str(".*"),
            Some(b' ' | b'+') if byte != Some(b'+') => expression.push_str(r"(?:\+|%20)"),
            Some(byte @ 0x21..=0x7e)
                if !byte.is_ascii_alphanumeric() && !b"-._~".contains(&byte) =>
            {
                let plain = regex::escape(char::from(byte).encode_utf8(&mut [0; 4]));
                // A literal plus is encoded.
                let plain = if byte == b'+' {
                    String::new()
                } else {
                    format!("{plain}|")
                };
                // Writing into a string does not fail.
                let _ = write!(expression, "(?:{plain}%{byte:02X})");
            }
            Some(byte) if !(0x20..0x7f).contains(&byte) => {
                let _ = write!(expression, "%{byte:02X}");
            }
            _ => expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    anchored(&expression)
}

/// Returns the text if it is that of a single parameter.
fn parameter<T: Word>(text: &str) -> Result<&str, Wrong> {
    let bare = text.trim_start_matches('?');
    if bare.len() < text.len() || text.contains(['&', '#']) {
        let first = bare.split(['&', '#']).next().unwrap_or_default();
        let wrong =
            Wrong::new("a parameter has no `?`, `&` or `#`: write several parameters as a list");
        return Err(wrong.instead_if_good::<T>(first));
    }
    Ok(text)
}

/// Refuses several names in one.
fn one_name<T: Word>(name: &str) -> Result<(), Wrong> {
    if !name.contains(", ") {
        return Ok(());
    }
    let wrong = Wrong::new("a name has no comma with a space: write several parameters as a list");
    Err(wrong.instead_all::<T>(name.split(", ").map(str::trim)))
}

impl Word for ParamPattern {
    const WHAT: &'static str = "the name of a parameter";
    const EXAMPLES: &'static [&'static str] = &["page", "utm_*"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        stands_alone::<Self>(text, "arg_")?;
        if let Some((name, _)) = text.split_once('=') {
            let wrong = Wrong::new("parameters are chosen by name, not by value");
            return Err(wrong.instead_if_good::<Self>(name));
        }
        let text = parameter::<Self>(text)?;
        foreign::choice::<Self>(text, text)?;
        one_name::<Self>(text)?;
        if text.starts_with('~') || foreign::is_expression(text) {
            let meant = text.trim_start_matches(['~', ' ', '^']).replace(".*", "*");
            let what = "there are no regular expressions here: `*` at the end stands for anything";
            let wrong = Wrong::new(what);
            let is_good = meant.contains('*') && !foreign::is_expression(&meant);
            return Err(if is_good {
                wrong.instead_if_good::<Self>(&meant)
            } else {
                wrong
            });
        }
        match text.split_once('*') {
            _ if text.is_empty() => Err(Wrong::new("the name is empty").as_in(Self::EXAMPLES)),
            None | Some((_, "")) => Ok(Self::parse(text)),
            Some((prefix, _)) => {
                Err(Wrong::new("`*` is only allowed at the end here").instead(format!("{prefix}*")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_compared_as_clients_send_them() {
        let shown = |text| QueryPattern::parse(text).map(|one| format!("{:?}", one.0));
        for (text, same) in [
            ("a%41", "aA"),
            ("größe=ü*", "gr%C3%B6%C3%9Fe=%C3%BC*"),
            ("page[]=a b", "page%5B%5D=a+b"),
        ] {
            assert_eq!(shown(text).unwrap(), shown(same).unwrap());
        }
        let QueryPattern(pattern) = QueryPattern::parse("page[*]=a b/*").unwrap();
        for name in ["page[1]", "page%5B1%5D", "page[%C3%BC]"] {
            assert!(pattern.name.matches(name), "{name}");
        }
        let value = pattern.value.unwrap();
        for (text, wanted) in [
            ("a+b/", true),
            ("a%20b%2Fc", true),
            ("a%2Bb/", false),
            ("ab/", false),
        ] {
            assert_eq!(value.is_match(text), wanted, "{text}");
        }
        for (text, instead) in [
            ("a&b", Some("\"a\"")),
            ("?a", Some("\"a\"")),
            ("a=1&b=2", Some("\"a=1\"")),
            ("?a=1#b", Some("\"a=1\"")),
            ("a#b", Some("\"a\"")),
            ("&", None),
            ("~ ü.*", Some("\"~ %C3%BC.*\"")),
            ("a=~ ü.*", Some("\"a=~ %C3%BC.*\"")),
            ("a=~ b", Some("\"a=~ .*b.*\"")),
            ("a=~^b", Some("\"a=~ b.*\"")),
            ("~* b", Some("\"~ (?i).*b.*\"")),
            ("a=~* b", Some("\"a=~ (?i).*b.*\"")),
            ("~ preview", Some("\"~ .*preview.*\"")),
            ("^utm_", Some("\"~ utm_.*\"")),
            ("a|b", Some("\"~ .*a.*|.*b.*\"")),
            ("utm_.*", Some("\"utm_*\"")),
            ("view=.*", Some("\"view\"")),
            ("view=^dr", Some("\"view=~ dr.*\"")),
            ("page, q", Some("\"page\", \"q\"")),
            ("x{a,b}=1", Some("\"xa=1\", \"xb=1\"")),
            ("|", None),
        ] {
            let wrong = QueryPattern::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), instead, "{text}: {wrong}");
        }
    }

    #[test]
    fn names_of_parameters_have_brackets_and_dots() {
        for text in [
            "a[b]",
            "a[b]*",
            "page[*]=a b",
            "filter[a][]",
            "a.b.*",
            "$x",
            "a b",
            "a,b",
            "q=",
            "a%7Cb",
            "q=a, b",
            "q=a|b",
            "q={a,b}",
        ] {
            assert!(QueryPattern::parse(text).is_ok(), "{text}");
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
        assert_eq!(name("ü"), Ok(ParamPattern::Name("ü".into())));
        assert_eq!(name("a b*"), Ok(ParamPattern::Prefix("a b".into())));
        assert_eq!(name("p%61ge%5B]"), Ok(ParamPattern::Name("page[]".into())));
        for (text, instead) in [
            ("utm_.*", Some("\"utm_*\"")),
            ("~ utm_.*", Some("\"utm_*\"")),
            ("^utm_.*", Some("\"utm_*\"")),
            ("^utm_", None),
            ("a|b", None),
            ("page, q", Some("\"page\", \"q\"")),
            (
                "utm_{source,medium}",
                Some("\"utm_source\", \"utm_medium\""),
            ),
        ] {
            let wrong = name(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), instead, "{text}: {wrong}");
        }
        for text in ["a&b", "a=1", "?a"] {
            let wrong = name(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some("\"a\""), "{text}: {wrong}");
        }
    }
}
