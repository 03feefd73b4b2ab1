//! The fields of HTTP: their names, values and lines.

use super::{
    Word, Wrong,
    variable::{names_variable, no_variables},
};
use http::{HeaderName, HeaderValue, header};

/// Fields of the connection, of the framing of a message, or of its way from server to server. No edit may change them.
const FRAMING: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "max-forwards",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Word for HeaderName {
    const WHAT: &'static str = "the name of a header";
    const EXAMPLES: &'static [&'static str] = &["Accept-Language", "X-Cache-Status"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        // A name may contain a star (RFC 9110 section 5.6.2), but never does.
        if text.contains('*') {
            let what = format!("`{text}` is not the name of one header: write each name in full");
            return Err(Wrong::new(what));
        }
        // It may also contain a dollar (WebSphere's `$WSRA`). nginx's `$http_accept` is the value of such a header.
        if names_variable(text) {
            let name = text
                .strip_prefix("$http_")
                .map(|name| name.replace('_', "-"));
            let wrong = Wrong::new(format!(
                "`{text}` is not the name of a header: there are no variables"
            ));
            return Err(match name {
                Some(name) => wrong.instead_if_good::<Self>(&name),
                None => wrong,
            });
        }
        text.parse().map_err(|_| {
            let wrong = Wrong::new(format!("`{text}` is not the name of a header"));
            match cleaned(text) {
                Some(name) => wrong.instead(name),
                None => wrong.as_in(Self::EXAMPLES),
            }
        })
    }
}

/// Returns the name in `text`, without the value after a colon, and with hyphens in place of spaces. `None` if anything
/// else is in it, which may be a value.
fn cleaned(text: &str) -> Option<String> {
    let name = text.split(':').next()?;
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_whole = |word: &&str| word.contains('-');
    let is_name = words.iter().all(|word| word.bytes().all(is_usual))
        && !words.is_empty()
        && (words.len() == 1 || !words.iter().any(is_whole));
    is_name.then(|| words.join("-"))
}

/// Reads the name of a header other than `Host`. A request of HTTP/2 has no such field, and clients spell the same host
/// in several ways, so a setting of its own, which `wrong` names, is for the host.
pub(super) fn but_host(text: &str, wrong: &str) -> Result<HeaderName, Wrong> {
    match HeaderName::parse(text)? {
        header::HOST => Err(Wrong::new(wrong)),
        name => Ok(name),
    }
}

impl Word for HeaderValue {
    const WHAT: &'static str = "the value of a header";
    const EXAMPLES: &'static [&'static str] = &["app.example"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        Self::from_str(text)
            .map_err(|_| Wrong::new("the value of a header has no control or non-ASCII characters"))
    }
}

/// A header that an edit may change, with its value: `X-Served-By: larder`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLine {
    /// The name.
    pub name: HeaderName,
    /// The value.
    pub value: HeaderValue,
}

impl Word for FieldLine {
    const WHAT: &'static str = "a header with its value";
    const EXAMPLES: &'static [&'static str] = &["X-Served-By: larder"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let (name, value) = text.split_once(':').ok_or_else(|| {
            Wrong::new(format!("`{text}` has no value")).instead(format!("{text}: value"))
        })?;
        let EditableName(name) = EditableName::parse(name.trim())?;
        if names_variable(value) {
            return Err(no_variables());
        }
        let value = HeaderValue::parse(value.trim())?;
        Ok(Self { name, value })
    }
}

/// The name of a header that an edit may remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditableName(pub HeaderName);

impl Word for EditableName {
    const WHAT: &'static str = "the name of a header";
    const EXAMPLES: &'static [&'static str] = &["Server", "X-Powered-By"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let name = but_host(text, "`Host` is set with `origin_host`")?;
        if FRAMING.contains(&name.as_str()) {
            return Err(Wrong::new(format!(
                "`{text}` belongs to the connection, not to the site"
            )));
        }
        if name == header::CONTENT_RANGE {
            return Err(Wrong::new(format!(
                "`{text}` says which part of the content a message has, so it comes with the content"
            )));
        }
        Ok(Self(name))
    }
}

/// The name of a header that may be passed on as the client wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedName(pub HeaderName);

impl Word for PassedName {
    const WHAT: &'static str = HeaderName::WHAT;
    const EXAMPLES: &'static [&'static str] = &["X-Forwarded-Host"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let EditableName(name) = EditableName::parse(text)?;
        match name.as_str() {
            "x-forwarded-for" => Err(Wrong::new(format!(
                "`{text}` is rewritten for the application; the proxies that may say in it who the client is are named in `trusted`"
            ))),
            "surrogate-capability" => Err(Wrong::new(format!(
                "`{text}` is written by Larder for the application; the proxies that may say in it what they understand are named in \
                 `trusted`"
            ))),
            _ => Ok(Self(name)),
        }
    }
}

/// The name of a header whose value may be part of the key. The application gets it as the client wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedName(pub HeaderName);

impl Word for KeyedName {
    const WHAT: &'static str = HeaderName::WHAT;
    const EXAMPLES: &'static [&'static str] = &["Accept-Language", "X-Country"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let name = but_host(
            text,
            "`key.host` decides whether each host has pages of its own",
        )?;
        match name.as_str() {
            "x-forwarded-for" | "forwarded" => Err(Wrong::new(format!(
                "`{text}` is rewritten for the application, so a client could choose another client's page with it; for pages that \
                 depend on the client's address write `cache = false`"
            ))),
            "surrogate-capability" => Err(Wrong::new(format!(
                "`{text}` is written by Larder for the application; what the proxies in `trusted` say in it is part of the key anyway"
            ))),
            framing if FRAMING.contains(&framing) => Err(Wrong::new(format!(
                "`{text}` belongs to the connection, not to the page"
            ))),
            _ => Ok(Self(name)),
        }
    }
}

/// A secret that clients send. There is no example of one: people would copy it.
#[derive(Clone, Debug)]
pub struct SecretValue(pub HeaderValue);

impl Word for SecretValue {
    const WHAT: &'static str = "a secret in quotes";
    const EXAMPLES: &'static [&'static str] = &[];

    fn parse(text: &str) -> Result<Self, Wrong> {
        HeaderValue::parse(text).map(Self)
    }
}

/// The name of a header in which a client sends a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretField(pub HeaderName);

impl Word for SecretField {
    const WHAT: &'static str = HeaderName::WHAT;
    const EXAMPLES: &'static [&'static str] = &["X-Purge-Key"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let name = HeaderName::parse(text)?;
        if FRAMING.contains(&name.as_str()) {
            let what = format!("`{text}` belongs to the connection and cannot carry a secret");
            return Err(Wrong::new(what).as_in(Self::EXAMPLES));
        }
        // Its lines are joined into one (RFC 9113 section 8.2.3), so the secret would be in the middle of others.
        if name == header::COOKIE {
            let what = format!(
                "`{text}` holds all cookies of a browser: a secret needs a field of its own"
            );
            return Err(Wrong::new(what).as_in(Self::EXAMPLES));
        }
        Ok(Self(name))
    }
}

/// Fields of answers that have another meaning for clients or other caches.
const SPOKEN: &[&str] = &[
    "age",
    "cache-control",
    "cache-status",
    "content-encoding",
    "content-location",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "set-cookie",
    "vary",
    "via",
];

/// The name of a field that only Larder writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnField(pub HeaderName);

impl Word for OwnField {
    const WHAT: &'static str = "the name of a header of our own";
    const EXAMPLES: &'static [&'static str] = &["Cache-ID", "X-Cache-Status"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let name = HeaderName::parse(text)?;
        if FRAMING.contains(&name.as_str()) || SPOKEN.contains(&name.as_str()) {
            let what = format!("`{text}` already has a meaning in answers");
            return Err(Wrong::new(what));
        }
        Ok(Self(name))
    }
}

#[cfg(test)]
mod tests;
