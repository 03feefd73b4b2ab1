//! The URLs that this tool requests: `http` and `https`, split up and otherwise left as they were written.

use std::fmt;

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Base {
    /// Whether it is `https`.
    pub tls: bool,
    /// Name or address. An IPv6 address has no brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl Base {
    /// Returns host and port for `Host` and `:authority`, without the scheme's own port (RFC 9110 section 4.2.3).
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == default_port(self.tls) {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// A URL: a server, and the request's target there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The server.
    pub base: Base,
    /// Path and query, beginning with a slash.
    pub target: String,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.base, self.target)
    }
}

impl Url {
    /// Reads a URL. Without a scheme it is `http`. A fragment is dropped.
    ///
    /// # Errors
    /// What is wrong with it, for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains(char::is_control) {
            return Err("a control character in a URL must be written percent-encoded".to_owned());
        }
        let (tls, rest) = match text.split_once("://") {
            None => (false, text),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, _)) => return Err(format!("'{scheme}' is neither http nor https")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains('@') {
            return Err("a user in the URL; send -H 'Authorization: …' instead".to_owned());
        }
        let (host, port) = split_port(authority)?;
        if !host.bytes().all(is_host) || host.is_empty() {
            return Err(format!("'{authority}' is not a host"));
        }
        let base = Base {
            tls,
            host: host.to_ascii_lowercase(),
            port: port.unwrap_or(default_port(tls)),
        };
        let target = target(rest)?;
        Ok(Self { base, target })
    }
}

/// Returns the request's target from what follows the host. A fragment is dropped, and a missing path is `/`.
///
/// # Errors
/// It contains white space or control characters.
pub fn target(text: &str) -> Result<String, String> {
    let text = text.split('#').next().unwrap_or_default();
    if let Some(wrong) = text.bytes().find(|byte| *byte <= b' ' || *byte == 0x7f) {
        let wrong = char::from(wrong).escape_default();
        return Err(format!(
            "'{wrong}' in a URL must be written percent-encoded"
        ));
    }
    let slash = if text.starts_with('/') { "" } else { "/" };
    Ok(format!("{slash}{text}"))
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    let number = |text: &str| {
        let port = text.parse().ok().filter(|port| *port > 0);
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        port.filter(|_| digits)
            .ok_or_else(|| format!("'{text}' is not a port"))
    };
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest
            .split_once(']')
            .ok_or_else(|| format!("'{authority}' lacks a bracket"))?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(number(port)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(format!("'{authority}' is not a host")),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Ok((host, Some(number(port)?))),
        None => Ok((authority, None)),
    }
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is read is written in such a way that it is read as the same again.
        #[test]
        fn any_text_may_come(text in prop_oneof![
            any::<String>(),
            "(https?://)?[]a-zA-Z0-9:@%._ \\[/?#-]{0,30}",
        ]) {
            if let Ok(url) = Url::parse(&text) {
                prop_assert!(url.target.starts_with('/') && url.base.port > 0);
                prop_assert!(!url.target.contains(|c: char| c <= ' ' || c == '#' || c == '\x7f'));
                prop_assert_eq!(Url::parse(&url.to_string()), Ok(url));
            }
        }

        /// RFC 3986 section 3: each part is where it belongs.
        #[test]
        fn the_parts_of_a_url(
            tls: bool,
            host in prop_oneof!["[a-z0-9][a-z0-9.-]{0,10}", Just("::1".to_owned())],
            port in proptest::option::of(1..u16::MAX),
            path in "(/[a-z0-9:@?/%]{0,10})?",
            fragment in "(#[a-z/?]{0,5})?",
        ) {
            let scheme = if tls { "https" } else { "http" };
            let name = if host.contains(':') { format!("[{host}]") } else { host.clone() };
            let place = port.map_or_else(|| name.clone(), |port| format!("{name}:{port}"));
            let url = Url::parse(&format!("{scheme}://{place}{path}{fragment}"));
            let port = port.unwrap_or(default_port(tls));
            let target = if path.is_empty() { "/".to_owned() } else { path };
            prop_assert_eq!(url, Ok(Url { base: Base { tls, host, port }, target }));
        }
    }
}
