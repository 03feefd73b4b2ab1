//! Addresses of an origin's servers.

use super::{
    Word, Wrong,
    address::{socket, split_port, split_scheme},
    host::not_ascii,
};
use origin::config::Address;
use std::net::Ipv6Addr;

/// One server of an origin as a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// Where it is.
    pub address: Address,
    /// Whether it is `https`. `None` for a Unix socket, which leaves it open.
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
            let address = Address::Unix(socket(path, "app.sock")?);
            return Ok(Self { address, tls: None });
        }
        let (scheme, rest) = split_scheme(text).unwrap_or((String::new(), text));
        // nginx writes a socket this way, and a colon between its path and that of the request.
        if let Some(path) = rest.strip_prefix("unix:") {
            let path = path.split(':').next().unwrap_or_default();
            let wrong = Wrong::new("a Unix socket has no scheme before `unix:`");
            return Err(wrong.instead(format!("unix:{path}")));
        }
        let (tls, usual) = match scheme.as_str() {
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
            let scheme = if scheme.is_empty() { "http" } else { &scheme };
            return Err(
                Wrong::new("the URL of a server has no path: requests keep their own")
                    .instead(format!("{scheme}://{authority}")),
            );
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

/// Reads `host:port`, `:port` (this machine) or, if the scheme has a usual port, `host`.
pub(super) fn host_and_port(authority: &str, usual: Option<u16>) -> Result<(String, u16), Wrong> {
    let bad = || {
        Wrong::new(format!("`{authority}` is not a host with a port")).as_in(ServerUrl::EXAMPLES)
    };
    let (host, port) = match (split_port(authority), usual) {
        (Some((_, 0)), _) => {
            let wrong = Wrong::new("no server has the port 0");
            return Err(wrong.as_in(ServerUrl::EXAMPLES));
        }
        (Some(split), _) => split,
        (None, Some(port)) => (authority, port),
        (None, None) if authority.parse::<u16>().is_ok() => {
            let what = format!("`{authority}` is a port without an address");
            return Err(Wrong::new(what).instead(format!("http://127.0.0.1:{authority}")));
        }
        (None, None) if authority.is_empty() => {
            return Err(Wrong::new("the URL is empty").as_in(ServerUrl::EXAMPLES));
        }
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
    if let Some(wrong) = not_ascii(host) {
        Err(wrong)
    } else if ok {
        Ok((host.to_ascii_lowercase(), port))
    } else {
        Err(bad())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers() {
        for (text, host, port, tls) in [
            ("http://127.0.0.1:5001", "127.0.0.1", 5001, false),
            ("http://App.example/", "app.example", 80, false),
            ("https://app.example", "app.example", 443, true),
            ("HTTPS://app.example", "app.example", 443, true),
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
            ("Http://app/api", "\"http://app\""),
            ("ftp://app", "\"http://app\""),
            ("app", "\"http://app\""),
            ("5001", "\"http://127.0.0.1:5001\""),
            ("http://user@app", "\"http://127.0.0.1:5001\""),
            ("", "\"http://127.0.0.1:5001\""),
            ("http://", "\"http://127.0.0.1:5001\""),
            ("http://unix:/run/app.sock", "\"unix:/run/app.sock\""),
            ("http://unix:/run/app.sock:/api/", "\"unix:/run/app.sock\""),
            ("unix:", "\"unix:/run/app.sock\""),
            ("unix:app.sock", "\"unix:/run/app.sock\""),
            ("http://:", "\"http://127.0.0.1:5001\""),
            ("http://app:0", "\"http://127.0.0.1:5001\""),
            (":0", "\"http://127.0.0.1:5001\""),
            ("http://app:99999", "\"http://127.0.0.1:5001\""),
        ] {
            let wrong = ServerUrl::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }
}
