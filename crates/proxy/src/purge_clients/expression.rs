//! Regular expressions that clients write for PCRE, and the meaning of the simple ones.

use super::tag_set::tag_set;
use rules::key;

/// What an expression on tags means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTags {
    /// Anything, also responses without tags.
    Everything,
    /// Any of these tags.
    Set(Vec<String>),
    /// Tags that match.
    Expression(String),
}

/// What an expression on a target means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTarget {
    /// Any target.
    Everything,
    /// Targets that begin so.
    Prefix(String),
    /// Targets that match.
    Expression(String),
}

/// Reads an expression on tags.
pub fn on_tags(text: &str) -> OnTags {
    if is_everything(text) {
        return OnTags::Everything;
    }
    tag_set(text).map_or_else(|| OnTags::Expression(translated(text)), OnTags::Set)
}

/// Reads an expression on path and query.
pub fn on_target(text: &str) -> OnTarget {
    if is_everything(text) || matches!(text, "/" | "^/" | "/.*" | "^/.*" | "^/.*$") {
        return OnTarget::Everything;
    }
    let beginning = text.strip_prefix('^').and_then(|rest| {
        let rest = rest.strip_suffix('$').unwrap_or(rest);
        literal(rest.strip_suffix(".*")?)
    });
    match beginning {
        Some(path) if path.starts_with('/') => OnTarget::Prefix(path),
        _ => OnTarget::Expression(translated_target(text)),
    }
}

/// Returns the one host that an expression names, if it does nothing else.
pub fn one_host(text: &str) -> Option<String> {
    literal(text.strip_prefix('^')?.strip_suffix('$')?)
}

/// Whether the expression matches any text.
pub fn is_everything(text: &str) -> bool {
    matches!(text, ".*" | "^.*" | ".*$" | "^.*$" | "(.*)" | "." | ".+")
}

/// Returns the text that an expression matches literally, if it has no other meaning.
fn literal(expression: &str) -> Option<String> {
    let mut text = String::with_capacity(expression.len());
    let mut letters = expression.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(letters.next().filter(|next| !next.is_alphanumeric())?),
            '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}' => {
                return None;
            }
            plain => text.push(plain),
        }
    }
    Some(text)
}

/// Translates PCRE's escapes into those of the `regex` crate: in PCRE, a backslash before anything that is neither a
/// letter nor a digit makes it literal.
pub fn translated(expression: &str) -> String {
    let mut text = String::with_capacity(expression.len());
    let mut letters = expression.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some(next) if !next.is_alphanumeric() => {
                text.push_str(&regex::escape(next.encode_utf8(&mut [0; 4])));
            }
            next => {
                text.push(letter);
                text.extend(next);
            }
        }
    }
    text
}

/// As [`translated`], of an expression on path and query: percent-encoded bytes and letters beyond ASCII are spelled as
/// they are keyed. Those in a class (`[éè]`), which is one character long, are left.
pub fn translated_target(expression: &str) -> String {
    let expression = translated(expression);
    let mut text = String::with_capacity(expression.len());
    let (mut rest, mut in_class) = (expression.as_str(), false);
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
            '%' if !in_class && is_triplet(rest) => 3,
            _ => letter.len_utf8(),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        match letter {
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        let is_spelled = !in_class && (length == 3 && letter == '%' || !letter.is_ascii());
        if !is_spelled {
            text.push_str(piece);
            continue;
        }
        let spelled = regex::escape(&key::normalize(piece));
        let is_repeated = rest.starts_with(['?', '*', '+', '{']);
        if is_repeated {
            text.extend(["(?:", &spelled, ")"]);
        } else {
            text.push_str(&spelled);
        }
    }
    text
}

/// Whether a percent-encoded byte stands at the beginning.
fn is_triplet(text: &str) -> bool {
    let digits = text.as_bytes().get(1..3);
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::Regex;

    #[test]
    fn targets_are_understood() {
        let prefix = |path: &str| OnTarget::Prefix(path.to_owned());
        let expression = |text: &str| OnTarget::Expression(text.to_owned());
        for (text, expected) in [
            (".*", OnTarget::Everything),
            ("^/.*", OnTarget::Everything),
            ("^/blog/.*", prefix("/blog/")),
            ("^/blog\\-a/.*$", prefix("/blog-a/")),
            ("/blog/.*", expression("/blog/.*")),
            ("^/blog/$", expression("^/blog/$")),
            ("^/a.b/.*", expression("^/a.b/.*")),
            ("^/a|^/b", expression("^/a|^/b")),
            ("^(/a|/b).*", expression("^(/a|/b).*")),
            ("\\.css$", expression("\\.css$")),
            ("^/a\\<b", expression("^/a<b")),
        ] {
            assert_eq!(on_target(text), expected, "{text}");
        }
    }

    #[test]
    fn targets_are_spelled_as_they_are_keyed() {
        for (text, expected) in [
            ("^/x/%c3%a9$", "^/x/%C3%A9$"),
            ("^/x/é$", "^/x/%C3%A9$"),
            ("^/x/é?$", "^/x/(?:%C3%A9)?$"),
            ("^/%7Ex$", "^/\\~x$"),
            ("^/a%2eb%2fc", "^/a\\.b%2Fc"),
            ("^/\\%c3\\%a9", "^/%C3%A9"),
            ("^/[^é%7E]/", "^/[^é%7E]/"),
            (
                "/100%|%[0-9a-f]{2}|%\\d\\d|%",
                "/100%|%[0-9a-f]{2}|%\\d\\d|%",
            ),
            ("/a\\[é", "/a\\[%C3%A9"),
        ] {
            assert_eq!(translated_target(text), expected, "{text}");
        }
    }

    #[test]
    fn one_host_is_found() {
        for (text, host) in [
            ("^www\\.example\\.com$", Some("www.example.com")),
            ("^(a|b)$", None),
            ("www\\.example\\.com", None),
        ] {
            assert_eq!(one_host(text).as_deref(), host, "{text}");
        }
    }

    proptest! {
        #[test]
        fn escaped_text_matches_itself(text in "[ -/:-@\\[-`{-~]{1,12}") {
            let escaped: String = text.chars().flat_map(|letter| ['\\', letter]).collect();
            let regex = Regex::new(&format!("^(?:{})$", translated(&escaped))).expect("valid");
            prop_assert!(regex.is_match(&text));
        }

        #[test]
        fn a_target_is_matched_by_its_own_spelling(text in "/[a-z.~]{0,3}(%[2-7a-cA-C][0-9a-fA-F]|[éß日]|[.()~+-]){0,4}") {
            let written = format!("^{}$", regex::escape(&text));
            let regex = Regex::new(&translated_target(&written)).expect("valid");
            let keyed = key::normalize(&text);
            prop_assert!(regex.is_match(&keyed), "{} {}", regex, keyed);
        }

        #[test]
        fn a_prefix_is_matched_by_its_expression(text in "\\^/[a-c\\\\.*$]{0,8}") {
            if let OnTarget::Prefix(prefix) = on_target(&text) {
                let regex = Regex::new(&translated(&text)).expect("valid");
                let target = format!("{prefix}x");
                prop_assert!(regex.is_match(&target));
            }
        }
    }
}
