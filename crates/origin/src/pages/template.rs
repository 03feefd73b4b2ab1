//! Templates of keys: text with variables, which have nginx's names.

use http::{Method, Uri};
use std::fmt;

/// A key with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Is(Variable),
}

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    /// `http` or `https`.
    Scheme,
    /// The host that the client asked for, in lower case, without a port.
    Host,
    /// The same, with the port if it is not the scheme's usual one.
    HostAndPort,
    /// The path, decoded.
    Path,
    /// The query, unchanged.
    Args,
    /// `?` if there is a query.
    IsArgs,
    /// Path and query, unchanged.
    Target,
    /// The method.
    Method,
}

/// The variables, by their names.
const NAMES: [(&str, Variable); 10] = [
    ("scheme", Variable::Scheme),
    ("host", Variable::Host),
    ("http_host", Variable::HostAndPort),
    ("uri", Variable::Path),
    ("document_uri", Variable::Path),
    ("args", Variable::Args),
    ("query_string", Variable::Args),
    ("is_args", Variable::IsArgs),
    ("request_uri", Variable::Target),
    ("request_method", Variable::Method),
];

/// Why a text is no template. The operator has to mend this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadTemplate {
    /// It names an unknown variable.
    Unknown(String),
    /// It does not name the path, so that all pages would have one key.
    WithoutPath,
    /// It contains a control character.
    Control,
}

/// What a template needs to know about a request.
#[derive(Clone, Copy, Debug)]
pub struct TemplateInput<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The host that the client asked for.
    pub host: &'a str,
    /// The method.
    pub method: &'a Method,
    /// Path and query.
    pub uri: &'a Uri,
}

impl Template {
    /// Reads a template: `$name` or `${name}`.
    ///
    /// # Errors
    /// See [`BadTemplate`].
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        if text.chars().any(char::is_control) {
            return Err(BadTemplate::Control);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            if !before.is_empty() {
                pieces.push(TemplatePart::Text(before.to_owned()));
            }
            let (name, after) = named(after);
            let variable = NAMES.iter().find(|(known, _)| *known == name);
            let (_, variable) = variable.ok_or_else(|| BadTemplate::Unknown(name.to_owned()))?;
            pieces.push(TemplatePart::Is(*variable));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(TemplatePart::Text(rest.to_owned()));
        }
        let template = Self(pieces);
        if template.names(&[Variable::Path, Variable::Target]) {
            Ok(template)
        } else {
            Err(BadTemplate::WithoutPath)
        }
    }

    /// Whether pages of different queries have different keys.
    pub fn has_query(&self) -> bool {
        self.names(&[Variable::Args, Variable::Target])
    }

    /// Returns the key of the requested page. `None`: there can be no key, because the path is malformed or contains
    /// something other than text.
    pub fn key(&self, asked: &TemplateInput<'_>) -> Option<String> {
        let query = asked.uri.query().unwrap_or_default();
        let mut key = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePart::Text(text) => key.push_str(text),
                TemplatePart::Is(Variable::Scheme) => key.push_str(asked.scheme),
                TemplatePart::Is(Variable::Host) => key.push_str(without_port(asked.host)),
                TemplatePart::Is(Variable::HostAndPort) => key.push_str(asked.host),
                TemplatePart::Is(Variable::Path) => key.push_str(&decoded(asked.uri.path())?),
                TemplatePart::Is(Variable::Args) => key.push_str(query),
                TemplatePart::Is(Variable::IsArgs) => {
                    key.push_str(if query.is_empty() { "" } else { "?" });
                }
                TemplatePart::Is(Variable::Target) => {
                    key.push_str(asked.uri.path_and_query()?.as_str());
                }
                TemplatePart::Is(Variable::Method) => key.push_str(asked.method.as_str()),
            }
        }
        (!key.chars().any(char::is_control)).then_some(key)
    }

    fn names(&self, any: &[Variable]) -> bool {
        self.0.iter().any(|piece| match piece {
            TemplatePart::Is(variable) => any.contains(variable),
            TemplatePart::Text(_) => false,
        })
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of an IPv6 address are inside brackets.
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

/// Splits the text after a `$` into the name and what follows it.
fn named(text: &str) -> (&str, &str) {
    if let Some((name, rest)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
        return (name, rest);
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    text.split_at(end)
}

/// Removes percent-encoding from a path. `None`: a `%` lacks its digits, or the result is not UTF-8.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let known: Vec<_> = NAMES.iter().map(|(name, _)| format!("${name}")).collect();
                write!(
                    f,
                    "there is no variable `${name}`; there are {}",
                    known.join(", ")
                )
            }
            Self::WithoutPath => {
                f.write_str("without `$uri` or `$request_uri` all pages have one key")
            }
            Self::Control => f.write_str("a key has no control characters"),
        }
    }
}
