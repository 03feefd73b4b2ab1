//! Knows which listeners redirect every client to HTTPS, for `explain`.

/// A listener without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Its port; `None` for a Unix socket.
    pub port: Option<u16>,
    /// Whether it redirects clients to HTTPS, whatever they ask for.
    pub redirects: bool,
}

/// Whether a client that asks for `url` over plain HTTP is redirected: by every listener, or by the one with its port.
pub(super) fn sends_on(plain: &[Plain], url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    if !scheme.eq_ignore_ascii_case("http") {
        return false;
    }
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let port = match host.rsplit_once(':') {
        // An empty port is the scheme's own (RFC 3986 section 3.2.3).
        Some((_, port)) if !port.is_empty() && !port.contains(']') => port.parse().ok(),
        _ => Some(80),
    };
    let has_port = |one: &&Plain| port.is_some() && one.port == port;
    let mut with_port = plain.iter().filter(has_port).peekable();
    if with_port.peek().is_some() {
        with_port.all(|one| one.redirects)
    } else {
        !plain.is_empty() && plain.iter().all(|one| one.redirects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listener_or_the_one_with_the_port() {
        let plain = |port, redirects| Plain {
            port: Some(port),
            redirects,
        };
        let both = [plain(80, true), plain(8080, false)];
        for (plain, url, sent) in [
            (&both[..], "http://a.test/x", true),
            (&both[..], "http://a.test:8080/x", false),
            (&both[..], "HTTP://a.test?x", true),
            (&both[..], "https://a.test/x", false),
            (&both[..], "http://a.test:9/x", false),
            (&both[..1], "http://a.test:9/x", true),
            (&both[..], "http://a.test:/x", true),
            (&both[1..], "http://a.test:/x", false),
            (&both[..], "http://[::1]:/x", true),
            (&both[..1], "http://[::1]/", true),
            (&both[1..], "http://[::1]/", false),
            (&[], "http://a.test/", false),
        ] {
            assert_eq!(sends_on(plain, url), sent, "{plain:?} {url}");
        }
    }
}
