//! The addresses of the servers: `memcached://host[:11211],host…`, `memcached:///path/of/socket`, or both mixed.

use crate::BadUrl;
use std::path::PathBuf;

/// The port if none is given.
const PORT: u16 = 11211;

/// The address of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host (in brackets if it is an IPv6 address) and a port.
    Tcp(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Returns the name by which a ring knows it. As in libmemcached, it lacks the usual port.
    pub fn name(&self) -> String {
        match self {
            Self::Tcp(host, PORT) => host.clone(),
            Self::Tcp(host, port) => format!("{host}:{port}"),
            Self::Unix(path) => path.display().to_string(),
        }
    }
}

/// Reads the servers in `url`.
///
/// # Errors
/// It is not such a URL.
pub fn parse(url: &str) -> Result<Vec<Address>, BadUrl> {
    let bad = |why: &str| BadUrl(format!("{url}: {why}"));
    let rest = url.strip_prefix("memcached://");
    let rest = rest.ok_or_else(|| bad("unknown scheme"))?;
    if rest.contains(['?', '#', '@']) {
        return Err(bad(
            "hosts or paths of sockets are expected, with commas between them",
        ));
    }
    let one = |text: &str| match text {
        "" => Err(bad("a host is missing")),
        path if path.starts_with('/') => Ok(Address::Unix(path.into())),
        text => tcp(text).ok_or_else(|| bad("not a host and a port")),
    };
    let all = rest.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
    let twice = all.iter().enumerate().any(|(index, address)| {
        let before = all.get(..index).unwrap_or_default();
        before.contains(address)
    });
    if twice {
        return Err(bad("one server is named twice"));
    }
    Ok(all)
}

fn tcp(text: &str) -> Option<Address> {
    let parts = text
        .rsplit_once(':')
        .filter(|(_, after)| !after.contains(']'));
    let (host, port) = match parts {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, PORT),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let plain = !host.is_empty() && !host.contains([':', '/', ' ', '[', ']']);
    (bracketed || plain).then(|| Address::Tcp(host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read(text in "(memcached://)?[a-z0-9:,/\\[\\].é-]{0,24}") {
            let _ = parse(&text);
        }
    }

    #[test]
    fn servers_are_read() {
        let tcp = |host: &str, port| Address::Tcp(host.to_owned(), port);
        for (url, expected) in [
            ("memcached://a", vec![tcp("a", 11211)]),
            (
                "memcached://a,b:1,10.0.0.1:2",
                vec![tcp("a", 11211), tcp("b", 1), tcp("10.0.0.1", 2)],
            ),
            (
                "memcached://[::1],[::2]:3",
                vec![tcp("[::1]", 11211), tcp("[::2]", 3)],
            ),
            (
                "memcached:///run/m.sock,a",
                vec![Address::Unix("/run/m.sock".into()), tcp("a", 11211)],
            ),
        ] {
            assert_eq!(parse(url), Ok(expected), "{url}");
        }
        for bad in [
            "",
            "memcached:",
            "memcached://",
            "memcached://a,",
            "memcached://a:",
            "memcached://a:x",
            "memcached://a:99999",
            "memcached://a:1:2",
            "memcached://a/b",
            "memcached://u@a",
            "memcached://a?x",
            "memcached://a,a:11211",
            "redis://a",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
