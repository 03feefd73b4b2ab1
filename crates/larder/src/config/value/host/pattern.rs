//! Patterns over hosts.

use super::{Word, Wrong, foreign, not_ascii};
use proxy::policy::HostPattern;
use rules::key::normalize_host;
use std::net::Ipv6Addr;

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
        foreign::choice::<Self>(text, text)?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
            ("{a, b}.example", "\"a.example\", \"b.example\""),
            ("*.{a,b}.example", "\"*.a.example\", \"*.b.example\""),
            ("{,www.}a.example", "\"a.example\", \"www.a.example\""),
            ("{a}.example", "\"example.com\""),
        ] {
            assert_eq!(
                shown(text).unwrap_err().instead.as_deref(),
                Some(instead),
                "{text}"
            );
        }
    }
}
