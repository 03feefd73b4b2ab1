//! The URL in a cache key.

/// Host and target of a cache key (`scheme://host/path?query`, then what the site adds after a line feed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// `http`, `https`, or empty where the site does not keep schemes apart.
    pub scheme: &'a str,
    /// The authority; empty where the site does not keep hosts apart.
    pub host: &'a str,
    /// Path and query.
    pub target: &'a str,
}

impl<'a> Address<'a> {
    /// The address in `key`. Keys are made from strings; one that is not is the address of nothing.
    pub fn of(key: &'a [u8]) -> Self {
        let end = key.iter().position(|byte| *byte == b'\n');
        let uri = key.get(..end.unwrap_or(key.len())).unwrap_or_default();
        let uri = std::str::from_utf8(uri).unwrap_or_default();
        let (scheme, rest) = uri.split_once("//").unwrap_or(("", uri));
        let at = rest.find('/').unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        Self {
            scheme: scheme.trim_end_matches(':'),
            host,
            target,
        }
    }

    /// `//host/path?query`: what purges of one URL name.
    pub fn text(&self) -> String {
        format!("//{}{}", self.host, self.target)
    }

    /// The URL as people write it, `http` where the scheme is not known.
    pub fn url(&self) -> String {
        let scheme = if self.scheme.is_empty() {
            "http"
        } else {
            self.scheme
        };
        format!("{scheme}://{}{}", self.host, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_apart() {
        for (key, scheme, host, target) in [
            (
                &b"http://a.example/x?y=//z"[..],
                "http",
                "a.example",
                "/x?y=//z",
            ),
            (b"//a.example:8080/", "", "a.example:8080", "/"),
            (b"https:///only/path\nh:x=1:y", "https", "", "/only/path"),
            (b"http://h/p\nc:a=3:\xff//", "http", "h", "/p"),
            (b"", "", "", ""),
            (b"\xff", "", "", ""),
        ] {
            let expected = Address {
                scheme,
                host,
                target,
            };
            assert_eq!(Address::of(key), expected, "{key:?}");
        }
    }
}
