//! Variables: what a page may know about the request that it answers.

mod agent;

use crate::escape::{EscapeContext, Part};
use std::borrow::Cow;

/// The request that a page answers.
pub trait Request {
    /// Its authority.
    fn host(&self) -> &str;
    /// Its path, without the query.
    fn path(&self) -> &str;
    /// Its query as the client wrote it, without `?`; `None` if it has none.
    fn query(&self) -> Option<&str>;
    /// A header field by its name in lower case. Several lines are joined by the field's rules.
    fn field(&self, name: &str) -> Option<Cow<'_, str>>;
}

/// The name of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Cookie,
    Query,
    Host,
    Path,
    Referer,
    UserAgent,
    AcceptLanguage,
    /// A name that we do not know. Such a variable is never defined.
    Other,
}

impl Name {
    fn of(name: &str) -> Self {
        match name {
            "HTTP_COOKIE" => Self::Cookie,
            "QUERY_STRING" => Self::Query,
            "HTTP_HOST" => Self::Host,
            "REQUEST_PATH" => Self::Path,
            "HTTP_REFERER" => Self::Referer,
            "HTTP_USER_AGENT" => Self::UserAgent,
            "HTTP_ACCEPT_LANGUAGE" => Self::AcceptLanguage,
            _ => Self::Other,
        }
    }
}

/// `$(NAME)`, `$(NAME{key})` or `$(NAME|default)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    name: Name,
    key: Option<Box<str>>,
    default: Option<Box<str>>,
}

/// What a text begins with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    /// A variable of this many bytes.
    Is(Variable, usize),
    /// Something else.
    Not,
    /// The text ends too early to tell.
    More,
}

impl Variable {
    /// Reads the variable at the beginning of `text`. Returns it and its length in bytes.
    pub(crate) fn read(text: &str) -> Option<(Self, usize)> {
        match Self::begin(text) {
            Reading::Is(variable, length) => Some((variable, length)),
            Reading::Not | Reading::More => None,
        }
    }

    /// Reads the beginning of `text`, which may be continued later.
    pub(crate) fn begin(text: &str) -> Reading {
        let Some(inside) = text.strip_prefix("$(") else {
            return if "$(".starts_with(text) {
                Reading::More
            } else {
                Reading::Not
            };
        };
        let named = |letter: char| letter.is_ascii_uppercase() || letter == '_';
        let (name, rest) = inside.split_at(inside.find(|c| !named(c)).unwrap_or(inside.len()));
        if name.is_empty() && !rest.is_empty() {
            return Reading::Not;
        }
        let (key, rest) = match rest.strip_prefix('{').map(|rest| rest.split_once('}')) {
            Some(Some((key, rest))) => (Some(unquoted(key).into()), rest),
            Some(None) => return Reading::More,
            None => (None, rest),
        };
        let (default, rest) = match rest.strip_prefix('|').map(value) {
            Some(Some((default, rest))) => (Some(default.into()), rest),
            Some(None) => return Reading::More,
            None => (None, rest),
        };
        let Some(rest) = rest.strip_prefix(')') else {
            return if rest.is_empty() {
                Reading::More
            } else {
                Reading::Not
            };
        };
        let variable = Self {
            name: Name::of(name),
            key,
            default,
        };
        Reading::Is(variable, text.len() - rest.len())
    }

    /// Whether we know its name.
    pub(crate) fn is_known(&self) -> bool {
        self.name != Name::Other
    }

    /// Whether it is the authority, which was checked before the request was accepted.
    pub(crate) fn is_host(&self) -> bool {
        self.name == Name::Host
    }

    /// Whether each request has it: its host, and its path.
    pub(crate) fn is_always_sent(&self) -> bool {
        matches!(self.name, Name::Host | Name::Path) && self.key.is_none()
    }

    /// The same with `default`, if the page gave none.
    pub(crate) fn or_default(self, default: &str) -> Self {
        if self.default().is_empty() {
            Self {
                default: Some(default.into()),
                ..self
            }
        } else {
            self
        }
    }

    /// How to escape the variable at `place`. A variable that is part of an address stays unescaped in its own part of
    /// an address.
    pub(crate) fn place(&self, place: EscapeContext) -> EscapeContext {
        match (self.name, self.key.is_some(), place) {
            (Name::Host, _, EscapeContext::Address(Part::Host | Part::Path))
            | (Name::Query, false, EscapeContext::Address(Part::Parameters)) => EscapeContext::Text,
            // The text before it may be no part of an address, so it must not name another host.
            (Name::Path, _, EscapeContext::Address(Part::Scheme | Part::Path)) => {
                EscapeContext::Address(Part::Start)
            }
            _ => place,
        }
    }

    /// Returns what the client sent; `None` if that is absent or empty.
    pub(crate) fn sent<'a>(&self, request: &'a dyn Request) -> Option<Cow<'a, str>> {
        let value = match (self.name, self.key.as_deref()) {
            (Name::Cookie, Some(key)) => cookie(request.field("cookie")?, key),
            (Name::Cookie, None) => request.field("cookie"),
            (Name::Query, Some(key)) => parameter(request.query()?, key),
            (Name::Query, None) => request.query().map(Cow::Borrowed),
            (Name::Host, None) => Some(Cow::Borrowed(request.host())),
            (Name::Path, None) => Some(Cow::Borrowed(request.path())),
            (Name::Referer, None) => request.field("referer"),
            (Name::UserAgent, None) => request.field("user-agent"),
            (Name::UserAgent, Some(key)) => agent::entry(request.field("user-agent")?, key),
            (Name::AcceptLanguage, Some(key)) => {
                let listed = request
                    .field("accept-language")
                    .is_some_and(|list| lists(&list, key));
                Some(Cow::Borrowed(if listed { "true" } else { "false" }))
            }
            (Name::AcceptLanguage, None) => request.field("accept-language"),
            (Name::Host | Name::Path | Name::Referer, Some(_)) | (Name::Other, _) => None,
        };
        value.filter(|value| !value.is_empty())
    }

    /// The page's own value, for a client that sent none.
    pub(crate) fn default(&self) -> &str {
        self.default.as_deref().unwrap_or_default()
    }

    /// The bytes of memory that it takes beyond its own size.
    pub(crate) fn weight(&self) -> usize {
        self.key.as_ref().map_or(0, |key| key.len())
            + self.default.as_ref().map_or(0, |default| default.len())
    }
}

/// Returns the text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('\'').or_else(|| quoted('"')).unwrap_or(text)
}

/// Splits a default, quoted or up to the parenthesis, from what follows; `None` if its end is not there.
fn value(text: &str) -> Option<(&str, &str)> {
    for quote in ['\'', '"'] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote);
        }
    }
    Some(text.split_at(text.find(')')?))
}

/// Returns the value of the first cookie of this name (RFC 6265 section 4.2.1).
fn cookie<'a>(line: Cow<'a, str>, name: &str) -> Option<Cow<'a, str>> {
    match line {
        Cow::Borrowed(line) => cookie_in(line, name).map(Cow::Borrowed),
        Cow::Owned(line) => cookie_in(&line, name).map(|value| Cow::Owned(value.to_owned())),
    }
}

fn cookie_in<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(';').find_map(|pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found.trim_end() == name).then(|| value.trim_start())
    })
}

/// Returns the value of the first parameter of this name, decoded.
fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    query.split('&').find_map(|pair| {
        let (found, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(found) == name).then(|| decoded(value))
    })
}

/// Decodes percent-encoding, and `+` as a space.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => match hex(after) {
                Some(byte) => {
                    bytes.push(byte);
                    rest = after.get(2..).unwrap_or_default();
                }
                None => bytes.push(b'%'),
            },
            other => bytes.push(other),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Whether the client accepts this language (RFC 9110 section 12.5.4), by its own name or by a more specific one.
fn lists(list: &str, language: &str) -> bool {
    list.split(',').any(|member| {
        let mut parts = member.split(';');
        let range = parts.next().unwrap_or_default().trim();
        let refused = parts.any(is_no_weight);
        let same = range.eq_ignore_ascii_case(language);
        let kind = range
            .split_at_checked(language.len())
            .is_some_and(|(start, rest)| {
                start.eq_ignore_ascii_case(language) && rest.starts_with('-')
            });
        !refused && !language.is_empty() && (same || kind)
    })
}

/// Whether a parameter is the weight zero: not acceptable (RFC 9110 section 12.4.2).
fn is_no_weight(parameter: &str) -> bool {
    let (name, weight) = parameter.split_once('=').unwrap_or((parameter, "1"));
    let is_zero = weight.trim().trim_end_matches(['0', '.']).is_empty();
    name.trim().eq_ignore_ascii_case("q") && is_zero
}

#[cfg(test)]
pub(crate) mod tests;
