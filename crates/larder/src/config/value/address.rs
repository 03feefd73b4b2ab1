//! Addresses to listen on.

use super::{Choice, Word, Wrong};
use schemars::{Schema, json_schema};
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

/// The address of a listener.
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
            return Ok(Self::Unix(socket(path, "larder.sock")?));
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
        with_port(text, 8080)
    }
}

/// Reads an address with a port. If it has no port, proposes `usual`.
fn with_port(text: &str, usual: u16) -> Result<SocketAddr, Wrong> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        let wrong = Wrong::new(format!("`{text}` has no port"));
        let meant = without_brackets(text).unwrap_or_else(|| SocketAddr::new(address, usual));
        return Err(wrong.instead(meant));
    }
    let bare = text.parse::<u16>();
    if let Ok(port) = bare {
        return Err(Wrong::new(format!("`{text}` is a port without an address"))
            .instead(format!(":{port}")));
    }
    let (host, port) = split_port(text).ok_or_else(|| {
        Wrong::new(format!("`{text}` is not an address with a port"))
            .instead(format!("127.0.0.1:{usual}"))
    })?;
    match host {
        "" | "*" => Ok(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)),
        "localhost" => Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)),
        _ => Err(
            Wrong::new(format!("`{host}` is a name: an IP address is needed"))
                .instead(format!("127.0.0.1:{port}")),
        ),
    }
}

/// `::1:8081`, an IPv6 address as a whole, where `[::1]:8081` is meant: its last group is a port that somebody writes.
fn without_brackets(text: &str) -> Option<SocketAddr> {
    let (host, port) = split_port(text)?;
    let address: Ipv6Addr = host.parse().ok()?;
    (port > 9).then(|| SocketAddr::new(address.into(), port))
}

/// Reads the address of an admin API, as written or as Larder prints it (`http://127.0.0.1:9180`). Where a proposal is
/// needed, it is an address of this machine alone, because everybody who reaches the API may purge.
pub fn of_admin(text: &str, usual: u16) -> Result<SocketAddr, Wrong> {
    let text = match split_scheme(text) {
        Some((scheme, rest)) if scheme == "http" => rest.strip_suffix('/').unwrap_or(rest),
        _ => text,
    };
    match text.parse::<u16>() {
        Ok(port) => Err(Wrong::new(format!("`{text}` is a port without an address"))
            .instead(format!("127.0.0.1:{port}"))),
        Err(_) => with_port(text, usual),
    }
}

/// Splits a URL behind its scheme, of which case does not count (RFC 3986 section 3.1): it is returned in lower case.
pub(super) fn split_scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    Some((scheme.to_ascii_lowercase(), rest))
}

/// Splits at the last colon, if a port follows it that is not part of an IPv6 address.
pub(super) fn split_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((host, port.parse().ok()?))
}

/// Largest number of bytes in the path of a socket: the system has room for these and a zero byte.
const LONGEST_PATH: usize = 107;

/// Reads the path of a socket, whose file is usually called `usual`.
pub(super) fn socket(path: &str, usual: &str) -> Result<PathBuf, Wrong> {
    if path.is_empty() || path.ends_with('/') {
        let folder = match path.trim_end_matches('/') {
            folder if folder.starts_with('/') => folder,
            _ => "/run",
        };
        let named = format!("unix:{folder}/{usual}");
        Err(Wrong::new("the path of a socket must end with a file name").instead(named))
    } else if path.len() > LONGEST_PATH {
        Err(Wrong::new(format!(
            "the path of a socket has at most {LONGEST_PATH} bytes"
        ))
        .instead(format!("unix:/run/{usual}")))
    } else if path.starts_with('/') {
        Ok(PathBuf::from(path))
    } else {
        Err(Wrong::new("the path of a socket must be absolute")
            .instead(format!("unix:/run/{path}")))
    }
}

/// The port of `https` to which clients are redirected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpsPort(pub u16);

impl Choice for HttpsPort {
    const OFF: Option<&'static str> =
        Some("a port belongs here; leave `redirect_https` out to redirect nothing");

    fn choose(number: i64) -> Result<Self, Wrong> {
        match u16::try_from(number) {
            Ok(port) if port != 0 => Ok(Self(port)),
            _ => Err(Wrong::new(format!("{number} is not a port")).instead_number(443)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": u16::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening() {
        let long = format!("unix:/{}", "x".repeat(LONGEST_PATH));
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
            ("::1", "\"[::1]:8080\""),
            ("::1:8081", "\"[::1]:8081\""),
            ("2001:db8::7", "\"[2001:db8::7]:8080\""),
            ("example.com:80", "\"127.0.0.1:80\""),
            ("unix:l.sock", "\"unix:/run/l.sock\""),
            ("unix:", "\"unix:/run/larder.sock\""),
            ("unix:/run/larder/", "\"unix:/run/larder/larder.sock\""),
            (long.as_str(), "\"unix:/run/larder.sock\""),
            ("127.0.0.1:99999", "\"127.0.0.1:8080\""),
            ("", "\"127.0.0.1:8080\""),
        ] {
            let wrong = ListenAddress::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }

    #[test]
    fn administering() {
        for (text, shown) in [
            ("127.0.0.1:9180", "127.0.0.1:9180"),
            ("http://127.0.0.1:9180", "127.0.0.1:9180"),
            ("http://[::1]:9180/", "[::1]:9180"),
            ("HTTP://127.0.0.1:9180", "127.0.0.1:9180"),
            (":9180", "0.0.0.0:9180"),
        ] {
            assert_eq!(of_admin(text, 9180).unwrap().to_string(), shown);
        }
        for (text, instead) in [
            ("9180", "\"127.0.0.1:9180\""),
            ("http://127.0.0.1", "\"127.0.0.1:9180\""),
            ("cache.internal:1", "\"127.0.0.1:1\""),
        ] {
            let wrong = of_admin(text, 9180).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }
}
