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

    /// The keys that `url`, as [`text`](Self::text) writes it, has over either scheme and where schemes are not kept apart, without
    /// what a site adds to them.
    pub fn keys(url: &str) -> [String; 3] {
        ["http:", "https:", ""].map(|scheme| format!("{scheme}{url}"))
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

    /// As Souin names what it stores, `http` where the scheme is not known.
    pub fn souin(&self) -> String {
        let scheme = if self.scheme == "https" {
            "https"
        } else {
            "http"
        };
        self.souin_over(scheme)
    }

    /// The same once for each scheme, on lines: who purges means it over both.
    pub fn souin_lines(&self) -> String {
        ["http", "https"]
            .map(|scheme| self.souin_over(scheme))
            .join("\n")
    }

    fn souin_over(&self, scheme: &str) -> String {
        format!("GET-{scheme}-{}-{}", self.host, self.target)
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

    #[test]
    fn souin_has_names_of_its_own() {
        let address = Address::of(b"https://a.example:8443/x?y\nh:z=1:y");
        assert_eq!(address.souin(), "GET-https-a.example:8443-/x?y");
        let lines = "GET-http-a.example-/\nGET-https-a.example-/";
        assert_eq!(Address::of(b"//a.example/").souin_lines(), lines);
    }
}
