//! Where to listen, and where an origin's servers are.

use super::{Word, Wrong};
use origin::config::Address;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

/// Where a listener waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// `127.0.0.1:8080`; `:8080` is every IPv4 address of the machine.
    Tcp(SocketAddr),
    /// `unix:/run/larder.sock`.
    Unix(PathBuf),
}

impl Word for ListenAddress {
    const WHAT: &'static str = "an address to listen on";
    const EXAMPLES: &'static [&'static str] = &[
        "127.0.0.1:8080",
        ":80",
        "[::1]:8080",
        "unix:/run/larder.sock",
    ];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(absolute(path)?));
        }
        SocketAddr::parse(text).map(Self::Tcp)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Word for SocketAddr {
    const WHAT: &'static str = "an address with a port";
    const EXAMPLES: &'static [&'static str] = &["127.0.0.1:8080", ":8080"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Ok(address) = text.parse() {
            return Ok(address);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Err(
                Wrong::new(format!("`{text}` has no port")).instead(Self::new(address, 8080))
            );
        }
        let bare = text.parse::<u16>();
        if let Ok(port) = bare {
            return Err(Wrong::new(format!("`{text}` is a port without an address"))
                .instead(format!(":{port}")));
        }
        let (host, port) = split_port(text).ok_or_else(|| {
            Wrong::new(format!("`{text}` is not an address with a port")).instead(Self::EXAMPLES[0])
        })?;
        match host {
            "" | "*" => Ok(Self::new(Ipv4Addr::UNSPECIFIED.into(), port)),
            "localhost" => Ok(Self::new(Ipv4Addr::LOCALHOST.into(), port)),
            _ => Err(Wrong::new(format!(
                "`{host}` is a name: an address of this machine is needed"
            ))
            .instead(format!("127.0.0.1:{port}"))),
        }
    }
}

/// One server of an origin as a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// Where it is.
    pub address: Address,
    /// `https`; `None` where a Unix socket leaves it open.
    pub tls: Option<bool>,
}

impl Word for ServerUrl {
    const WHAT: &'static str = "the URL of a server";
    const EXAMPLES: &'static [&'static str] = &[
        "http://127.0.0.1:5001",
        "https://app.example",
        "unix:/run/app.sock",
    ];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Some(path) = text.strip_prefix("unix:") {
            let address = Address::Unix(absolute(path)?);
            return Ok(Self { address, tls: None });
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (tls, usual) = match scheme {
            "http" => (false, Some(80)),
            "https" => (true, Some(443)),
            "" => (false, None),
            _ => {
                return Err(Wrong::new(format!("the scheme `{scheme}` is not known"))
                    .instead(format!("http://{rest}")));
            }
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some((authority, _)) = authority.split_once(['/', '?', '#']) {
            let scheme = if scheme.is_empty() { "http" } else { scheme };
            return Err(Wrong::new("an origin has no path: requests keep theirs")
                .instead(format!("{scheme}://{authority}")));
        }
        let (host, port) = host_and_port(authority, usual)?;
        Ok(Self {
            address: Address::Tcp { host, port },
            tls: Some(tls),
        })
    }
}

impl std::str::FromStr for ServerUrl {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        Self::parse(text)
    }
}

/// `host:port`, `:port` (this machine) or, where the scheme has a usual port, `host`.
fn host_and_port(authority: &str, usual: Option<u16>) -> Result<(String, u16), Wrong> {
    let bad = || {
        Wrong::new(format!("`{authority}` is not a host with a port"))
            .instead(ServerUrl::EXAMPLES[0])
    };
    let (host, port) = match (split_port(authority), usual) {
        (Some(split), _) => split,
        (None, Some(port)) => (authority, port),
        (None, None) => {
            return Err(Wrong::new(format!("`{authority}` has no port"))
                .instead(format!("http://{authority}")));
        }
    };
    let host = if host.is_empty() && authority.starts_with(':') {
        "127.0.0.1"
    } else {
        host
    };
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Some(address) = inner {
        let address: Ipv6Addr = address.parse().map_err(|_| bad())?;
        return Ok((address.to_string(), port));
    }
    let ok = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if ok {
        Ok((host.to_ascii_lowercase(), port))
    } else {
        Err(bad())
    }
}

/// Splits at the last colon, where a port follows that is not part of an IPv6 address.
fn split_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((host, port.parse().ok()?))
}

fn absolute(path: &str) -> Result<PathBuf, Wrong> {
    if path.starts_with('/') {
        Ok(PathBuf::from(path))
    } else {
        Err(Wrong::new("the path of a socket must be absolute")
            .instead(format!("unix:/run/{path}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening() {
        for (text, shown) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            (":8080", "0.0.0.0:8080"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:8080", "[::1]:8080"),
            ("unix:/run/l.sock", "unix:/run/l.sock"),
        ] {
            assert_eq!(ListenAddress::parse(text).unwrap().to_string(), shown);
        }
        for (text, instead) in [
            ("127.0.0.1", "\"127.0.0.1:8080\""),
            ("8080", "\":8080\""),
            ("example.com:80", "\"127.0.0.1:80\""),
            ("unix:l.sock", "\"unix:/run/l.sock\""),
            ("127.0.0.1:99999", "\"127.0.0.1:8080\""),
            ("", "\"127.0.0.1:8080\""),
        ] {
            let wrong = ListenAddress::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }

    #[test]
    fn servers() {
        for (text, host, port, tls) in [
            ("http://127.0.0.1:5001", "127.0.0.1", 5001, false),
            ("http://App.example/", "app.example", 80, false),
            ("https://app.example", "app.example", 443, true),
            ("https://[::1]:8443", "::1", 8443, true),
            ("localhost:5001", "localhost", 5001, false),
            (":5001", "127.0.0.1", 5001, false),
        ] {
            let host = host.to_owned();
            let wanted = ServerUrl {
                address: Address::Tcp { host, port },
                tls: Some(tls),
            };
            assert_eq!(ServerUrl::parse(text), Ok(wanted), "{text}");
        }
        for (text, instead) in [
            ("http://app/api", "\"http://app\""),
            ("ftp://app", "\"http://app\""),
            ("app", "\"http://app\""),
            ("http://user@app", "\"http://127.0.0.1:5001\""),
            ("http://", "\"http://127.0.0.1:5001\""),
            ("http://:", "\"http://127.0.0.1:5001\""),
            ("http://app:99999", "\"http://127.0.0.1:5001\""),
        ] {
            let wrong = ServerUrl::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }
}
