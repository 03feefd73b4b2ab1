//! Patterns over hosts, and what all patterns share.

use super::{Word, Wrong};
use proxy::policy::HostPattern;
use regex::{Regex, RegexBuilder};
use rules::key::normalize_host;
use std::net::Ipv6Addr;

/// Largest compiled size of one regular expression, in bytes.
const LARGEST_REGEX: usize = 1 << 20;

impl Word for HostPattern {
    const WHAT: &'static str = "a host";
    const EXAMPLES: &'static [&'static str] = &["example.com", "*.example.com", "*"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if text == "_" {
            let what = "no client asks for the host `_`, which in nginx is every host: leave `host` out, or write `*`";
            return Err(Wrong::new(what).instead("*"));
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
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && (!host.contains(':') || host.ends_with(']'))
        {
            return Err(
                Wrong::new("write the host without a port: it matches on all ports").instead(host),
            );
        }
        if let Some(name) = name.strip_prefix('.').filter(|_| !suffix) {
            let what = format!("nginx's `.{name}` is two hosts here: `{name}` and `*.{name}`");
            return Err(Wrong::new(what).instead(format!("*.{name}")));
        }
        if name.parse::<Ipv6Addr>().is_ok() {
            return Err(Wrong::new("an IPv6 address needs brackets, as in `Host`")
                .instead(format!("[{name}]")));
        }
        if let Some(wrong) = not_ascii(text) {
            return Err(wrong);
        }
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        // In the form that is compared with what clients send: an address has one form.
        let name = normalize_host(name, "http").filter(|name| name.bytes().all(valid));
        let Some(name) = name else {
            return Err(Wrong::new(format!("`{text}` is not a host")).as_in(Self::EXAMPLES));
        };
        Ok(if suffix {
            Self::Suffix(name.into_owned())
        } else {
            Self::Exact(name.into_owned())
        })
    }
}

/// Returns the fault of a host with characters that `Host` and DNS do not have (RFC 5890).
pub fn not_ascii(host: &str) -> Option<Wrong> {
    let what =
        "write a host as clients send it, in ASCII: `bücher.example` is `xn--bcher-kva.example`";
    (!host.is_ascii() && !host.contains(char::is_whitespace)).then(|| Wrong::new(what))
}

/// Compiles an expression that must cover the whole text.
pub(super) fn anchored(pattern: &str) -> Result<Regex, Wrong> {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(LARGEST_REGEX)
            .dot_matches_new_line(true)
            .build()
    };
    // Compiled alone first, so that a message shows the pattern as it was written.
    build(pattern)
        // The closing part is on its own line only if there is a comment (`(?x)`), which ends with its line. Otherwise
        // the line break would count.
        .and_then(|_| {
            let closed = build(&format!(r"\A(?:{pattern})\z"));
            closed.or_else(|_| build(&format!("\\A(?:{pattern}\n)\\z")))
        })
        .map_err(|error| Wrong::new(describe(&error)))
}

/// Compiles an expression again, to match in upper and lower case alike. It still reads as it did.
pub(super) fn in_any_case(regex: &Regex) -> Result<Regex, Wrong> {
    RegexBuilder::new(regex.as_str())
        .size_limit(LARGEST_REGEX)
        .dot_matches_new_line(true)
        .case_insensitive(true)
        .build()
        .map_err(|error| Wrong::new(describe(&error)))
}

/// Compiles the expression behind `~`, which covers the whole of `what`. `before` is the text before the `~`.
pub(super) fn expression(before: &str, pattern: &str, what: &str) -> Result<Regex, Wrong> {
    in_its_case(before, pattern)?;
    let (flags, begun) = flags(pattern);
    if is_open(begun) {
        let wrong = Wrong::new(format!(
            "a regular expression must match the whole {what}, not only its beginning"
        ));
        return Err(proposed(wrong, &format!("{before}~ {flags}"), begun));
    }
    anchored(pattern)
}

/// Compiles the expression behind `~`, which covers the whole of a value. Refuses one that is a plain word: it was meant
/// as a search. `is_long`: values are never one word, nor one of a few, whatever their case.
pub(super) fn of_value(before: &str, pattern: &str, is_long: bool) -> Result<Regex, Wrong> {
    let regex = expression(before, pattern, "value")?;
    let (flags, begun) = flags(pattern);
    let is_searched = if is_long {
        alternatives(begun).into_iter().all(is_word)
    } else {
        is_word(pattern)
    };
    if !is_searched {
        return Ok(regex);
    }
    let alone = if is_long {
        ""
    } else {
        " (for this value alone, leave `~` out)"
    };
    let what = "a regular expression must match the whole value, not only a part of it";
    let wrong = Wrong::new(format!("{what}{alone}"));
    Err(proposed(wrong, &format!("{before}~ {flags}"), begun))
}

/// Whether an expression is plain text, perhaps with an end.
fn is_word(pattern: &str) -> bool {
    let text = pattern.strip_suffix('$').unwrap_or(pattern);
    !text.is_empty() && !text.contains(|letter| r"\.+*?()|[]{}^$".contains(letter))
}

/// Refuses nginx's `~*`. `pattern` is the text behind `~`, `before` the text before it.
pub(super) fn in_its_case(before: &str, pattern: &str) -> Result<(), Wrong> {
    let searched = pattern.strip_prefix('*').map(str::trim_start);
    searched.map_or(Ok(()), |pattern| {
        let wrong = Wrong::new("to ignore upper and lower case, write `(?i)` instead of `~*`");
        Err(proposed(wrong, &format!("{before}~ (?i)"), pattern))
    })
}

/// Proposes a search as an expression that covers the whole text. `before` is the text before it.
pub(super) fn proposed(wrong: Wrong, before: &str, pattern: &str) -> Wrong {
    match whole(pattern) {
        Some(whole) => wrong.instead(format!("{before}{whole}")),
        None => wrong,
    }
}

/// Turns a search into an expression that covers the whole text, with ends for each alternative. `None` if there may be
/// alternatives or ends within a group or a class.
fn whole(pattern: &str) -> Option<String> {
    let each = alternatives(pattern).into_iter().map(whole_alone);
    each.collect::<Option<Vec<_>>>().map(|all| all.join("|"))
}

fn whole_alone(pattern: &str) -> Option<String> {
    let (before, rest) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => (".*", pattern),
    };
    let (rest, after) = match rest.strip_suffix('$').filter(|rest| !rest.ends_with('\\')) {
        Some(rest) => (rest, ""),
        None => (rest, ".*"),
    };
    let has_ends = rest.contains(['^', '$']);
    (!has_ends).then(|| format!("{before}{rest}{after}"))
}

/// Splits an expression at the bars that are not escaped and not in a group or class.
fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut all, mut begin) = (Vec::new(), 0);
    let (mut depth, mut in_class, mut is_escaped) = (0_u32, false, false);
    for (at, sign) in pattern.char_indices() {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                all.extend(pattern.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.extend(pattern.get(begin..));
    all
}

/// Whether an expression has a beginning but no end: it was meant as a search, and would hardly ever match.
fn is_open(pattern: &str) -> bool {
    let repeats = ['*', '+', '?', '}'];
    let last = pattern.trim_end_matches(')');
    pattern.starts_with('^') && !last.ends_with('$') && !last.ends_with(repeats)
}

/// Splits off the leading flags, such as `(?i)`, which do not say where the expression begins.
pub(super) fn flags(pattern: &str) -> (&str, &str) {
    let is_flag = |letter: char| letter.is_ascii_alphabetic() || letter == '-';
    let behind = pattern.strip_prefix("(?").and_then(|rest| {
        let begun = rest.trim_start_matches(is_flag).strip_prefix(')')?;
        pattern.split_at_checked(pattern.len() - begun.len())
    });
    behind.unwrap_or(("", pattern))
}

/// Returns the reason in one line: the last line of the message of `regex`, which first draws the pattern.
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

    #[test]
    fn expressions_cover_the_whole() {
        for (pattern, text) in [("a|ab", "ab"), ("(?x) a b # both", "ab"), ("a.", "a\n")] {
            let expression = anchored(pattern).unwrap();
            assert!(expression.is_match(text), "{pattern}");
            assert!(!expression.is_match(&format!("{text}c")), "{pattern}");
            assert!(!expression.is_match(&format!("{text}\n")), "{pattern}");
        }
        anchored("(a").unwrap_err();
    }

    /// The proposal matches exactly what the search would have found.
    #[test]
    fn what_is_searched_for_is_proposed_as_a_whole() {
        for (searched, proposal) in [
            ("x", Some(".*x.*")),
            ("^x", Some("x.*")),
            ("x$", Some(".*x")),
            ("bot|crawl|spider", Some(".*bot.*|.*crawl.*|.*spider.*")),
            ("^wp|^sess", Some("wp.*|sess.*")),
            ("^a$|b", Some("a|.*b.*")),
            ("[|^]x", None),
            ("[|]x", Some(".*[|]x.*")),
            ("(bot|crawl)er$|x", Some(".*(bot|crawl)er|.*x.*")),
            (r"\.(png|jpg)$", Some(r".*\.(png|jpg)")),
            (r"a\|b", Some(r".*a\|b.*")),
            (r"^a\|b|c", Some(r"a\|b.*|.*c.*")),
            ("(^a|b)", None),
        ] {
            assert_eq!(whole(searched).as_deref(), proposal, "{searched}");
            let Some(proposal) = proposal else { continue };
            let (searched, proposal) = (Regex::new(searched).unwrap(), anchored(proposal).unwrap());
            for text in [
                "",
                "x",
                "axb",
                "a",
                "b",
                "a|b",
                "wpx",
                "xwp",
                "sess",
                "robots",
                "a crawler",
                "c",
            ] {
                let both = [&searched, &proposal].map(|regex| regex.is_match(text));
                assert_eq!(both[0], both[1], "{searched} {proposal}: {text}");
            }
        }
        for (pattern, open) in [
            ("^x", true),
            ("^(a|b)", true),
            ("^x$", false),
            ("^.*?", false),
            ("^[0-9]{3}", false),
            ("^(Mozilla.*|curl.*)", false),
            ("x", false),
        ] {
            assert_eq!(is_open(pattern), open, "{pattern}");
        }
    }

    #[test]
    fn hosts() {
        let shown = |text| HostPattern::parse(text).map(|host| format!("{host:?}"));
        assert_eq!(shown("Example.COM.").unwrap(), "Exact(\"example.com\")");
        assert_eq!(shown("*.example.com").unwrap(), "Suffix(\"example.com\")");
        assert_eq!(shown("*").unwrap(), "Any");
        assert_eq!(shown("[0:0:0::1]").unwrap(), "Exact(\"[::1]\")");
        for (text, instead) in [
            ("https://a.example/x", "\"a.example\""),
            ("a.example/x", "\"a.example\""),
            ("a.example:8080", "\"a.example\""),
            ("a.example:", "\"a.example\""),
            ("[::1]:80", "\"[::1]\""),
            ("a:b", "\"example.com\""),
            ("[::1", "\"example.com\""),
            (".a.example", "\"*.a.example\""),
            ("_", "\"*\""),
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
