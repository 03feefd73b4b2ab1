//! Hosts, as in the `Host` field.

mod pattern;

use super::{Word, Wrong, foreign};
use http::HeaderValue;
use rules::key::normalize_host;
use std::net::Ipv6Addr;

/// A host, with a port if it is not the usual one (RFC 9110 section 7.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostValue(pub HeaderValue);

impl Word for HostValue {
    const WHAT: &'static str = "a host";
    const EXAMPLES: &'static [&'static str] = &["app.example", "app.example:8080"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        // A registered name may contain it (RFC 3986 section 3.2.2), but never does.
        if text.contains('$') {
            return Err(Wrong::new(
                "a host is sent as written: there are no variables (without `origin_host`, the client's host is sent)",
            ));
        }
        let is_host = |text: &str| normalize_host(text, "http").is_some();
        let value = HeaderValue::from_str(text).ok();
        if let Some(value) = value.filter(|_| is_host(text)) {
            return Ok(Self(value));
        }
        if text.parse::<Ipv6Addr>().is_ok() {
            return Err(Wrong::new("an IPv6 address needs brackets").instead(format!("[{text}]")));
        }
        if let Some(wrong) = not_ascii(text) {
            return Err(wrong);
        }
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let bare = bare.split(['/', '?', '#']).next().unwrap_or_default();
        if bare != text && is_host(bare) {
            return Err(Wrong::new("a host has neither scheme nor path").instead(bare));
        }
        Err(Wrong::new(format!("`{text}` is not a host")).as_in(Self::EXAMPLES))
    }
}

/// Returns the fault of a host with characters that `Host` and DNS do not have (RFC 5890).
pub fn not_ascii(host: &str) -> Option<Wrong> {
    let what =
        "write a host as clients send it, in ASCII: `bücher.example` is `xn--bcher-kva.example`";
    (!host.is_ascii() && !host.contains(char::is_whitespace)).then(|| Wrong::new(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_and_without_port() {
        for text in ["a", "A.example", "a:8080", "127.0.0.1:1", "[::1]:80", "a_b"] {
            assert_eq!(HostValue::parse(text).unwrap().0, text);
        }
        for (text, instead) in [
            ("http://a", "\"a\""),
            ("https://a:8443/x?y", "\"a:8443\""),
            ("a/../b", "\"a\""),
            ("a b", "\"app.example\""),
            ("", "\"app.example\""),
            ("/", "\"app.example\""),
            ("u@a", "\"app.example\""),
            ("a:99999", "\"app.example\""),
            ("a\n", "\"app.example\""),
            ("::1", "\"[::1]\""),
        ] {
            let wrong = HostValue::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
        let wrong = HostValue::parse("bücher.example").unwrap_err();
        assert!(wrong.what.contains("ASCII"), "{wrong}");
        for text in ["$host", "${host}:80", "http://$http_host/"] {
            let wrong = HostValue::parse(text).unwrap_err();
            assert!(wrong.what.contains("no variables"), "{text}: {wrong}");
        }
    }
}
