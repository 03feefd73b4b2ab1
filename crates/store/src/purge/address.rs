//! The URL in a cache key.

/// The host and target of a cache key (`scheme://host/path?query`, then what the site adds after a line feed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// `http`, `https`, or empty if the site does not tell schemes apart.
    pub scheme: &'a str,
    /// The authority; empty if the site does not tell hosts apart.
    pub host: &'a str,
    /// Path and query.
    pub target: &'a str,
}

impl<'a> Address<'a> {
    /// Returns the address in `key`. Keys are made from strings; a key that is not UTF-8 has an empty address.
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

    /// Returns the keys of `url`, in the form of [`text`](Self::text): over each scheme, and for sites that do not tell
    /// schemes apart. They lack what a site adds.
    pub fn keys(url: &str) -> [String; 3] {
        ["http:", "https:", ""].map(|scheme| format!("{scheme}{url}"))
    }

    /// Returns `//host/path?query`, by which purges name a URL.
    pub fn text(&self) -> String {
        format!("//{}{}", self.host, self.target)
    }

    /// Returns the URL as people write it, with `http` if the scheme is not known.
    pub fn url(&self) -> String {
        let scheme = if self.scheme.is_empty() {
            "http"
        } else {
            self.scheme
        };
        format!("{scheme}://{}{}", self.host, self.target)
    }

    /// Returns the name that Souin would give to what is stored, with `http` if the scheme is not known.
    pub fn souin(&self) -> String {
        let scheme = if self.scheme == "https" {
            "https"
        } else {
            "http"
        };
        self.souin_over(scheme)
    }

    /// Returns that name once for each scheme, on two lines: a purge is for both.
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
