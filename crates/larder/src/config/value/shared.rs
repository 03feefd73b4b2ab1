//! Addresses of the shared tier and of the other nodes.

use super::{
    Word, Wrong,
    address::{split_port, split_scheme},
};

/// The address of a shared tier. The tier itself reads what follows the scheme.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedUrl(pub String);

/// The schemes of shared tiers.
const SCHEMES: &[&str] = &[
    "redis",
    "rediss",
    "redis+unix",
    "redis-sentinel",
    "rediss-sentinel",
    "redis-cluster",
    "rediss-cluster",
    "memcached",
];

impl SharedUrl {
    /// Whether nodes learn of each other's purges through it. memcached has no means for that.
    pub fn carries_purges(&self) -> bool {
        !self.0.starts_with("memcached:")
    }

    /// The address without user name and password.
    pub fn shown(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return self.0.clone();
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let authority = authority.rsplit_once('@').map_or(authority, |(_, at)| at);
        format!("{scheme}://{authority}{rest}")
    }
}

impl std::fmt::Debug for SharedUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Word for SharedUrl {
    const WHAT: &'static str = "the address of Redis, Valkey or memcached";
    const EXAMPLES: &'static [&'static str] = &[
        "redis://127.0.0.1:6379",
        "redis+unix:///run/redis.sock",
        "memcached://127.0.0.1:11211,127.0.0.1:11212",
    ];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let Some((scheme, rest)) = split_scheme(text) else {
            if let Some(path) = text.strip_prefix("unix:") {
                let path = match path.trim_start_matches('/') {
                    "" => "/run/redis.sock".to_owned(),
                    _ if path.starts_with('/') => path.to_owned(),
                    name => format!("/run/{name}"),
                };
                let wrong = Wrong::new("the socket of Redis is written `redis+unix://`");
                return Err(wrong.instead(format!("redis+unix://{path}")));
            }
            if let Some(meant) = with_slashes(text) {
                return Err(Wrong::new("the scheme needs two slashes after it").instead(meant));
            }
            let wrong = Wrong::new("the address has no scheme");
            let is_plain =
                |letter: char| letter.is_ascii_alphanumeric() || "-._~:/?@%=&[]".contains(letter);
            return Err(if text.chars().all(is_plain) {
                wrong.instead(format!("redis://{text}"))
            } else {
                wrong.as_in(Self::EXAMPLES)
            });
        };
        if !SCHEMES.contains(&scheme.as_str()) {
            let same = match scheme.as_str() {
                "valkey" => "redis",
                "valkeys" => "rediss",
                "unix" => "redis+unix",
                "memcache" => "memcached",
                _ => {
                    let what = format!("the scheme `{scheme}` is not known");
                    return Err(Wrong::new(what).as_in(Self::EXAMPLES));
                }
            };
            let what = format!("the scheme `{scheme}` is written `{same}`");
            return Err(Wrong::new(what).instead(format!("{same}://{rest}")));
        }
        if rest.is_empty() {
            return Err(Wrong::new("the address names no server").as_in(Self::EXAMPLES));
        }
        Ok(Self(format!("{scheme}://{rest}")))
    }
}

/// Corrects `redis:/127.0.0.1`. Without any slash, the text is a host and its port.
fn with_slashes(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let rest = rest.strip_prefix('/')?;
    let path = if scheme.ends_with("unix") { "/" } else { "" };
    SCHEMES
        .contains(&scheme)
        .then(|| format!("{scheme}://{path}{rest}"))
}

/// The admin address of another node: `http://10.0.0.2:9180`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerUrl {
    /// Its name or address; an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl Word for PeerUrl {
    const WHAT: &'static str = "the admin address of another node";
    const EXAMPLES: &'static [&'static str] = &["http://10.0.0.2:9180"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let bad = || Wrong::new(format!("`{text}` is not {}", Self::WHAT)).as_in(Self::EXAMPLES);
        let authority = match split_scheme(text) {
            Some((scheme, rest)) if scheme == "http" => rest.strip_suffix('/').unwrap_or(rest),
            Some((_, rest)) => {
                return Err(Wrong::new("the admin API speaks plain `http`")
                    .instead(format!("http://{rest}")));
            }
            None => {
                return Err(Wrong::new("a URL is needed").instead(format!("http://{text}")));
            }
        };
        let Some((host, port)) = split_port(authority) else {
            let name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
            return Err(if !authority.is_empty() && authority.bytes().all(name) {
                Wrong::new(format!("`{text}` has no port")).instead(format!("{text}:9180"))
            } else {
                bad()
            });
        };
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = inner.unwrap_or(host);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let good = match inner {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_name),
        };
        if !good || port == 0 {
            return Err(bad());
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

impl std::fmt::Display for PeerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "http://[{host}]:{port}")
        } else {
            write!(f, "http://{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_tiers() {
        for (text, shown, carries) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379", true),
            ("redis://me:p@ss@h:1/3", "redis://h:1/3", true),
            ("rediss://:secret@h", "rediss://h", true),
            (
                "redis+unix:///run/r.sock?db=2",
                "redis+unix:///run/r.sock?db=2",
                true,
            ),
            ("Redis://Me:P@h:1", "redis://h:1", true),
            ("memcached://a,b:2", "memcached://a,b:2", false),
        ] {
            let url = SharedUrl::parse(text).unwrap();
            assert_eq!(
                (url.shown().as_str(), url.carries_purges()),
                (shown, carries)
            );
            assert_eq!(format!("{url:?}"), shown, "no password in a log");
        }
        for (text, instead) in [
            ("127.0.0.1:6379", "\"redis://127.0.0.1:6379\""),
            ("redis:6379", "\"redis://redis:6379\""),
            ("redis:/127.0.0.1", "\"redis://127.0.0.1\""),
            (
                "redis+unix:/run/redis.sock",
                "\"redis+unix:///run/redis.sock\"",
            ),
            ("unix:/r.sock", "\"redis+unix:///r.sock\""),
            ("unix:r.sock", "\"redis+unix:///run/r.sock\""),
            ("valkey://h:1", "\"redis://h:1\""),
            ("unix:///run/r.sock", "\"redis+unix:///run/r.sock\""),
            ("http://h", "\"redis://127.0.0.1:6379\""),
            ("redis://", "\"redis://127.0.0.1:6379\""),
        ] {
            let wrong = SharedUrl::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }

    #[test]
    fn peers() {
        for text in [
            "http://10.0.0.2:9180",
            "http://[::1]:9180",
            "http://b.example:1",
        ] {
            assert_eq!(PeerUrl::parse(text).unwrap().to_string(), text);
            let loud = text.to_ascii_uppercase();
            assert_eq!(PeerUrl::parse(&loud).unwrap().to_string(), text);
        }
        for (text, instead) in [
            ("10.0.0.2:9180", "\"http://10.0.0.2:9180\""),
            ("https://b:9180", "\"http://b:9180\""),
            ("http://b", "\"http://b:9180\""),
            ("http://b:9180/purge", "\"http://10.0.0.2:9180\""),
            ("http://:9180", "\"http://10.0.0.2:9180\""),
            ("http://u@b:9180", "\"http://10.0.0.2:9180\""),
            ("http://b:0", "\"http://10.0.0.2:9180\""),
        ] {
            let wrong = PeerUrl::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }
}
