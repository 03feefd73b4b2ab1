//! The target of a request, as its client wrote it.

use http::{
    Uri,
    uri::{Authority, PathAndQuery},
};
use rules::key;
use std::{borrow::Cow, fmt, rc::Rc};

/// The target of a request (RFC 9112 section 3.2). The reference count of a clone is its worker's own.
#[derive(Clone, Debug)]
pub struct Target(Form);

#[derive(Clone, Debug)]
enum Form {
    /// A path, and perhaps a query, of characters that a URI may have: nearly all targets.
    Usual {
        text: Rc<str>,
        /// Where the path ends.
        path: usize,
        /// Whether it is in normal form, since nothing is percent-encoded.
        is_normal: bool,
    },
    /// Any other target.
    Uri(Uri),
}

impl Target {
    /// Returns the target in `text`, if it is of the usual form.
    #[inline]
    pub fn usual(text: &[u8]) -> Option<Self> {
        let kinds = text.iter().fold(0, |all, byte| all | kind(*byte));
        if text.first() != Some(&b'/') || kinds & UNUSUAL != 0 {
            return None;
        }
        let path = match kinds & QUERY {
            0 => text.len(),
            _ => memchr::memchr(b'?', text)?,
        };
        Some(Self(Form::Usual {
            text: str::from_utf8(text).ok()?.into(),
            path,
            is_normal: kinds & ENCODED == 0,
        }))
    }

    /// Returns the path; `/` for an absolute target without one.
    pub fn path(&self) -> &str {
        match &self.0 {
            Form::Usual { text, path, .. } => text.get(..*path).unwrap_or_default(),
            Form::Uri(uri) => uri.path(),
        }
    }

    /// Returns the query, without `?`.
    pub fn query(&self) -> Option<&str> {
        match &self.0 {
            Form::Usual { text, path, .. } => text.get(path + 1..),
            Form::Uri(uri) => uri.query(),
        }
    }

    /// Returns path and query; `None` if it has neither.
    pub fn path_and_query(&self) -> Option<&str> {
        match &self.0 {
            Form::Usual { text, .. } => Some(text),
            Form::Uri(uri) => uri.path_and_query().map(PathAndQuery::as_str),
        }
    }

    /// Returns path and query in origin form (RFC 9112 section 3.2.1): for an absolute target with an empty path,
    /// beginning with `/`. `None` if it has neither.
    pub fn origin_form(&self) -> Option<Cow<'_, str>> {
        Some(match self.path_and_query()? {
            query if query.starts_with('?') => ["/", query].concat().into(),
            target => target.into(),
        })
    }

    /// Returns the scheme, if the target has one.
    pub fn scheme(&self) -> Option<&str> {
        match &self.0 {
            Form::Usual { .. } => None,
            Form::Uri(uri) => uri.scheme_str(),
        }
    }

    /// Returns the authority, if the target has one.
    pub fn authority(&self) -> Option<&str> {
        match &self.0 {
            Form::Usual { .. } => None,
            Form::Uri(uri) => uri.authority().map(Authority::as_str),
        }
    }

    /// Returns [path](Self::path) and [query](Self::query) in normal form ([`key::normalize`]).
    #[inline]
    pub fn normal(&self) -> (Cow<'_, str>, Option<Cow<'_, str>>) {
        match &self.0 {
            Form::Usual {
                is_normal: true, ..
            } => (self.path().into(), self.query().map(Cow::Borrowed)),
            _ => (self.normal_path(), self.normal_query()),
        }
    }

    /// Returns the query in normal form.
    pub fn normal_query(&self) -> Option<Cow<'_, str>> {
        self.query().map(key::normalize)
    }

    fn normal_path(&self) -> Cow<'_, str> {
        match self.path() {
            "" => Cow::Borrowed("/"),
            path => key::normalize(path),
        }
    }

    /// Converts it to a URI; returns the default one if it is none.
    pub fn into_uri(self) -> Uri {
        match self.0 {
            Form::Usual { text, .. } => Uri::try_from(&*text).unwrap_or_default(),
            Form::Uri(uri) => uri,
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Uri::default().into()
    }
}

/// Compares targets of any form: one that was encoded here equals one that a client wrote so.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.authority() == other.authority() && self.path_and_query() == other.path_and_query()
    }
}

impl Eq for Target {}

impl From<Uri> for Target {
    fn from(uri: Uri) -> Self {
        Self(Form::Uri(uri))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Usual { text, .. } => f.write_str(text),
            Form::Uri(uri) => uri.fmt(f),
        }
    }
}

/// The byte begins a query.
const QUERY: u8 = 1;
/// The byte begins a percent-encoded character.
const ENCODED: u8 = 2;
/// The byte may not be in a URI.
const UNUSUAL: u8 = 4;

/// Returns the kind of a byte; 0 for `unreserved`, `sub-delims`, `:`, `@` and `/` (RFC 3986 section 3.3).
#[inline]
fn kind(byte: u8) -> u8 {
    KINDS.get(usize::from(byte)).map_or(UNUSUAL, |kind| *kind)
}

static KINDS: [u8; 128] = {
    let mut kinds = [UNUSUAL; 128];
    let mut rest: &[u8] =
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'()*+,;=:@/?%";
    while let [byte, more @ ..] = rest {
        if let Some(kind) = kinds.split_at_mut(*byte as usize).1.first_mut() {
            *kind = match *byte {
                b'?' => QUERY,
                b'%' => ENCODED,
                _ => 0,
            };
        }
        rest = more;
    }
    kinds
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_is_told_as_it_was_written() {
        for (text, path, query, authority) in [
            ("/", "/", None, None),
            ("/a?b=%20?", "/a", Some("b=%20?"), None),
            ("/?", "/", Some(""), None),
            (
                "http://a.example:80/b?c",
                "/b",
                Some("c"),
                Some("a.example:80"),
            ),
            ("http://a.example", "/", None, Some("a.example")),
            ("http://a.example?b", "/", Some("b"), Some("a.example")),
        ] {
            let target =
                Target::usual(text.as_bytes()).unwrap_or_else(|| Uri::from_static(text).into());
            assert_eq!(target.path(), path, "{text}");
            assert_eq!(target.query(), query, "{text}");
            assert_eq!(target.authority(), authority, "{text}");
            let told = [path, query.map_or("", |_| "?"), query.unwrap_or_default()].concat();
            assert_eq!(target.origin_form(), Some(told.into()), "{text}");
        }
    }

    proptest! {
        /// A target of the usual form equals the URI that the `http` crate reads.
        #[test]
        fn the_usual_is_a_uri_like_any(text in "[/a?é][%?/a-e0-9@:;=\"#|é-]{0,12}") {
            let uri = Uri::try_from(&*text).map(Target::from);
            if let Some(target) = Target::usual(text.as_bytes()) {
                let uri = uri.expect("it is a URI");
                prop_assert_eq!(target.path(), uri.path());
                prop_assert_eq!(target.query(), uri.query());
                prop_assert_eq!(target.path_and_query(), uri.path_and_query());
                prop_assert_eq!(target.authority(), uri.authority());
                prop_assert_eq!(target.normal(), uri.normal());
                prop_assert_eq!(target.to_string(), uri.to_string());
                prop_assert_eq!(Target::from(target.into_uri()), uri);
            }
        }

        /// Any bytes are of the usual form or not, without a panic.
        #[test]
        fn any_bytes(text: Vec<u8>) {
            let _ = Target::usual(&text);
        }
    }
}
