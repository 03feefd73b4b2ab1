//! What to fetch: a URL, and the header fields of each variant.

use crate::{
    config::value::{ServerUrl, Word},
    crawl::site,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;

/// The most variants of one URL.
pub const MOST_VARIANTS: usize = 64;

/// A URL, in the parts that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Scheme and authority, as the server of the URL.
    pub server: ServerUrl,
    /// The authority, for `Host`.
    pub host: String,
    /// Path and query.
    pub target: String,
    is_tls: bool,
}

/// A text that is not a URL that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a URL that can be fetched; write it whole, as http://host/path")]
pub struct NotAnAddress(pub String);

impl Address {
    /// Parses a URL; one without a scheme is taken for `http`.
    ///
    /// # Errors
    /// The text is not a URL.
    pub fn parse(text: &str) -> Result<Self, NotAnAddress> {
        let bad = || NotAnAddress(text.chars().take(200).collect());
        let whole = match text.split_once("://") {
            Some(_) => text.to_owned(),
            None => format!("http://{text}"),
        };
        let whole = whole
            .split_once('#')
            .map_or(whole.as_str(), |(before, _)| before);
        let (scheme, rest) = whole.split_once("://").ok_or_else(bad)?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, target) = rest.split_at_checked(at).ok_or_else(bad)?;
        let scheme = scheme.to_ascii_lowercase();
        let is_web = matches!(scheme.as_str(), "http" | "https");
        let server = ServerUrl::parse(&format!("{scheme}://{host}")).map_err(|_| bad())?;
        let odd = |letter: char| letter.is_whitespace() || letter.is_control();
        if !is_web || target.contains(odd) || target.len() > site::LONGEST_TARGET {
            return Err(bad());
        }
        Ok(Self {
            server,
            host: host.to_ascii_lowercase(),
            target: site::normal(&rules::uri::encode(target.as_bytes())),
            is_tls: scheme == "https",
        })
    }

    /// Returns only the name of the host, for TLS.
    pub fn name(&self) -> String {
        match &self.server.address {
            origin::config::Address::Tcp { host, .. } => host.clone(),
            origin::config::Address::Unix(_) => self.host.clone(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.host, self.target)
    }
}

/// The header fields of each variant. If no variants were requested, there is one without fields.
pub type Variants = Vec<HeaderMap>;

/// Returns every combination of the values given for each field. An empty value stands for a request without the field.
/// `None` means more than 64.
pub fn variants(fields: &[(HeaderName, HeaderValue)]) -> Option<Variants> {
    let mut names: Vec<&HeaderName> = Vec::new();
    for (name, _) in fields {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut all = vec![HeaderMap::new()];
    for name in names {
        let values = fields
            .iter()
            .filter(|(of, _)| of == name)
            .map(|(_, value)| value);
        let mut next = Vec::new();
        for value in values {
            for one in &all {
                let mut one = one.clone();
                if !value.is_empty() {
                    one.insert(name.clone(), value.clone());
                }
                next.push(one);
            }
        }
        all = next;
        if all.len() > MOST_VARIANTS {
            return None;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn urls_are_read() {
        for (text, shown) in [
            ("http://a.example/x?y=1#z", Some("http://a.example/x?y=1")),
            ("a.example:8080", Some("http://a.example:8080/")),
            ("127.0.0.1:1/x", Some("http://127.0.0.1:1/x")),
            ("HTTPS://A.example/%7ex", Some("https://a.example/~x")),
            ("http://a.example?x", Some("http://a.example/?x")),
            ("http://a.example/é", Some("http://a.example/%C3%A9")),
            ("http://[::1]:8080/", Some("http://[::1]:8080/")),
            ("", None),
            ("ftp://a.example/", None),
            ("unix:/run/x", None),
            ("http://user@a.example/", None),
            ("http://a.example/a b", None),
            ("http:///x", None),
        ] {
            let read = Address::parse(text).map(|address| address.to_string()).ok();
            assert_eq!(read.as_deref(), shown, "{text}");
        }
    }

    #[test]
    fn values_are_combined() {
        let field = |name: &'static str, value: &'static str| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        let told = |fields: &[(HeaderName, HeaderValue)]| {
            let all = variants(fields)?.into_iter();
            let told = all.map(|one| {
                let all = one
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.to_str().unwrap_or("?")));
                let mut all: Vec<_> = all.collect();
                all.sort();
                all.join(" ")
            });
            Some(told.collect::<Vec<_>>())
        };
        assert_eq!(told(&[]), Some(vec![String::new()]));
        let fields = [
            field("a", "1"),
            field("b", "x"),
            field("a", ""),
            field("b", "y"),
        ];
        let expected = ["a=1 b=x", "b=x", "a=1 b=y", "b=y"].map(str::to_owned);
        assert_eq!(told(&fields), Some(expected.to_vec()));
        let many: Vec<_> = std::iter::repeat_n(field("a", "1"), MOST_VARIANTS + 1).collect();
        assert_eq!(told(&many), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            if let Ok(address) = Address::parse(&text) {
                prop_assert!(address.target.parse::<http::uri::PathAndQuery>().is_ok());
            }
        }
    }
}
