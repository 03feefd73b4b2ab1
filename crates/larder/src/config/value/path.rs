//! Patterns over the paths of requests and of files.

mod foreign;

use super::{
    Word, Wrong,
    pattern::{alternatives, anchored, expression, flags, in_its_case, proposed, whole},
};
use foreign::{begins_elsewhere, ending, from_root, is_search, of_others};
use proxy::policy::PathPattern;
use regex::Regex;
use rules::key;
use std::{borrow::Cow, fmt::Write as _};

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
        match Written::read(text)? {
            Written::Expression(pattern) => {
                let regex = path_regex(pattern)?;
                in_normal_form("~ ", pattern)?;
                Ok(Self::Regex(regex))
            }
            Written::Plain(text) => {
                of_others::<Self>(text)?;
                requested(&normal(text))
            }
        }
    }
}

/// A pattern over the paths of files. Names are as on disk; the path of a request is percent-encoded.
#[derive(Clone, Debug)]
pub struct FilePattern(pub PathPattern);

impl Word for FilePattern {
    const WHAT: &'static str = PathPattern::WHAT;
    const EXAMPLES: &'static [&'static str] = PathPattern::EXAMPLES;

    fn parse(text: &str) -> Result<Self, Wrong> {
        match Written::read(text)? {
            Written::Expression(pattern) => path_regex(pattern).map(PathPattern::Regex),
            Written::Plain(text) => {
                of_others::<Self>(text)?;
                plain(text)
            }
        }
        .map(Self)
    }
}

/// A pattern, by how it is written.
enum Written<'a> {
    /// The text after `~`.
    Expression(&'a str),
    /// Text that may contain stars.
    Plain(&'a str),
}

impl<'a> Written<'a> {
    fn read(text: &'a str) -> Result<Self, Wrong> {
        if let Some(pattern) = text.strip_prefix('~') {
            in_its_case("", pattern)?;
            return Ok(Self::Expression(pattern.trim()));
        }
        // nginx writes a `location` this way.
        if let Some(path) = text.strip_prefix('=') {
            return Err(Wrong::new("a path matches exactly without `=`").instead(path.trim_start()));
        }
        if let Some(prefix) = text.strip_prefix("^~") {
            let meant = format!("{}*", prefix.trim());
            return Err(Wrong::new("a prefix is written with `*` at the end").instead(meant));
        }
        if text.starts_with('^') || is_search(text) {
            let wrong = Wrong::new("a regular expression begins with `~`");
            return Err(match ending(text) {
                Some(ending) => wrong.instead(format!("*.{ending}")),
                None => proposed(wrong, "~ ", text),
            });
        }
        if let Some((_, rest)) = text.split_once("://") {
            let path = rest.find('/').and_then(|at| rest.get(at..));
            return Err(Wrong::new("a path has no host: match it with `host`")
                .instead(path.unwrap_or("/*")));
        }
        if !text.starts_with(['/', '*']) {
            return Err(Wrong::new("a path begins with `/`")
                .instead(format!("/{}", text.trim().trim_start_matches('/'))));
        }
        if text.contains(['?', '#']) {
            let path = text.split(['?', '#']).next().unwrap_or_default();
            return Err(Wrong::new("a path has no query: match it with `query`").instead(path));
        }
        Ok(Self::Plain(text.trim_end()))
    }
}

/// Returns the pattern over the paths of requests that is written so, in normal form. What it has in encoded form it also
/// matches as it is, where a path can have it so: applications take both for the same.
fn requested(text: &str) -> Result<PathPattern, Wrong> {
    if matches!(key::decode_optional(text), Cow::Borrowed(_)) {
        return plain(text);
    }
    let text = match text.split_once('*') {
        Some((_, "")) => Cow::Owned(format!("{text}*")),
        _ => Cow::Borrowed(text),
    };
    wildcard(&text, in_each_form).map(PathPattern::Wildcard)
}

fn plain(text: &str) -> Result<PathPattern, Wrong> {
    Ok(match text.split_once('*') {
        None => PathPattern::Exact(text.to_owned()),
        Some((prefix, "")) if !prefix.is_empty() => PathPattern::Prefix(prefix.to_owned()),
        Some(_) => PathPattern::Wildcard(wildcard(text, regex::escape)?),
    })
}

/// Whether clients percent-encode the character in every path.
fn is_encoded(letter: char) -> bool {
    !letter.is_ascii_graphic() || ['"', '<', '>', '`', '{', '}'].contains(&letter)
}

fn encode(letter: char, text: &mut String) {
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        // Writing to a string does not fail.
        let _ = write!(text, "%{byte:02X}");
    }
}

/// Returns a path as it is compared with requests: in normal form, with everything encoded that clients encode.
pub fn normal(path: &str) -> String {
    let mut sent = String::with_capacity(path.len());
    for letter in path.chars() {
        if is_encoded(letter) {
            encode(letter, &mut sent);
        } else {
            sent.push(letter);
        }
    }
    key::normalize(&sent).into_owned()
}

/// Refuses an expression with characters that no request contains literally. `before` is the text before it.
pub(super) fn in_normal_form(before: &str, pattern: &str) -> Result<(), Wrong> {
    let is_verbose = has_flag(pattern, 'x');
    let is_foreign = |letter: char| {
        !letter.is_ascii() || letter.is_ascii_control() || letter == ' ' && !is_verbose
    };
    let mut meant = String::with_capacity(pattern.len());
    let (mut foreign, mut in_brackets) = (None, false);
    let (mut depth, mut is_escaped) = (0_usize, false);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '[' if !is_escaped => depth += 1,
            ']' if !is_escaped => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
        if !is_foreign(letter) {
            meant.push(letter);
            continue;
        }
        foreign.get_or_insert(letter);
        in_brackets |= depth > 0;
        let mut whole = String::new();
        encode(letter, &mut whole);
        let is_repeated = letters.peek().is_some_and(|next| "*+?{".contains(*next));
        if is_repeated {
            whole = format!("({whole})");
        }
        meant.push_str(&whole);
    }
    let meant = meant.replace("%2e", "%2E").replace("%2E", r"\.");
    let normal = key::normalize(&meant);
    let is_same =
        normal == pattern || has_flag(pattern, 'i') && normal.eq_ignore_ascii_case(pattern);
    let what = match foreign {
        None if is_same => return Ok(()),
        None => "requests are compared in normal form (RFC 3986 section 6.2.2)".to_owned(),
        Some(letter) => {
            let mut sent = String::new();
            encode(letter, &mut sent);
            format!("clients send `{letter}` as `{sent}`")
        }
    };
    if in_brackets {
        let what = format!("{what}, which needs parentheses: `(%C3%A4|%C3%B6)`");
        return Err(Wrong::new(what));
    }
    Err(Wrong::new(what).instead(format!("{before}{normal}")))
}

/// Whether a group sets this flag: `(?i)`, `(?ix:…)`.
fn has_flag(pattern: &str, flag: char) -> bool {
    pattern.split("(?").skip(1).any(|group| {
        let set = group.chars().take_while(char::is_ascii_alphabetic);
        set.into_iter().any(|letter| letter == flag)
    })
}

/// Compiles a regular expression over the whole path. An expression that cannot begin with `/` matches no path, and was
/// probably meant as a search.
fn path_regex(pattern: &str) -> Result<Regex, Wrong> {
    if pattern.is_empty() {
        return Err(Wrong::new("the regular expression is empty").instead(r"~ /v[0-9]+/.*"));
    }
    let (flags, begun) = flags(pattern);
    if alternatives(begun).into_iter().any(begins_elsewhere) {
        let wrong =
            Wrong::new("a regular expression must match the whole path, which begins with `/`");
        let whole = whole(&from_root(begun));
        return Err(match whole {
            Some(whole) => wrong.instead(format!("~ {flags}{whole}")),
            None => wrong,
        });
    }
    expression("", pattern, "path")
}

/// Returns the expression for a path with `*` (within a segment) and `**` (across segments). A leading `*` also goes
/// across segments. `escaped` makes an expression of the text between stars.
fn wildcard(text: &str, escaped: impl Fn(&str) -> String) -> Result<Regex, Wrong> {
    let mut pattern = String::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('*') {
        pattern.push_str(&escaped(literal));
        let tail = after.trim_start_matches('*');
        let across = tail.len() < after.len() || pattern.is_empty();
        pattern.push_str(if across { ".*" } else { "[^/]*" });
        rest = tail;
    }
    pattern.push_str(&escaped(rest));
    anchored(&pattern)
}

fn is_of_hex(digits: Option<&str>) -> bool {
    digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Returns the expression for text of a path, of which each encoded byte that a path can also have as it is matches in
/// both forms.
fn in_each_form(literal: &str) -> String {
    let mut pattern = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('%') {
        pattern.push_str(&regex::escape(before));
        let digits = after.get(..2).unwrap_or_default();
        let coded = format!("%{digits}");
        // A percent sign before two digits would begin another triplet.
        let begins_another = digits == "25" && is_of_hex(after.get(2..4));
        rest = if let Cow::Owned(decoded) = key::decode_optional(&coded)
            && !begins_another
        {
            // Writing to a string does not fail.
            let _ = write!(pattern, "(?:{coded}|{})", regex::escape(&decoded));
            after.get(2..).unwrap_or_default()
        } else {
            pattern.push('%');
            after
        };
    }
    pattern.push_str(&regex::escape(rest));
    pattern
}

#[cfg(test)]
mod tests;
