//! Decides what belongs to a site: resolves references into targets of requests, or finds that they lead elsewhere.

use rules::{key, uri};
use std::borrow::Cow;

/// The longest target that is followed, in bytes. Servers refuse longer ones as well. RFC 9110 section 4.1 asks for
/// 8000; linked targets are far shorter, unless they grow with each page.
pub const LONGEST_TARGET: usize = 4096;

/// A site, with its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The host that requests name, and that the site's pages use: with a port if that is not the scheme's default.
    host: String,
    /// The address at which the application is asked, which belongs to the site as well.
    at: String,
}

/// The place to which a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// A target of the site: path and query, normalised.
    Here(String),
    /// Another site, or something that is not fetched by HTTP.
    Elsewhere,
    /// A target of the site that is longer than [`LONGEST_TARGET`].
    TooLong,
}

impl Site {
    /// The site that is asked at `at`, with this `host` if it has another name. Returns `None` if one of them is not a
    /// host.
    pub fn new(at: &str, host: Option<&str>) -> Option<Self> {
        let at = key::normalize_host(at, "http")?.into_owned();
        let host = match host {
            Some(host) => key::normalize_host(host, "http")?.into_owned(),
            None => at.clone(),
        };
        Some(Self { host, at })
    }

    /// The host that requests name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Resolves `reference` on the page `base`, a target of this site.
    pub fn leads(&self, base: &str, reference: &[u8]) -> Leads {
        self.leads_from(&format!("http://{}{base}", self.host), reference)
    }

    /// Like [`leads`](Self::leads), from a whole URL.
    pub fn leads_from(&self, base: &str, reference: &[u8]) -> Leads {
        let whole = uri::join(base, &as_browsers_read(reference));
        let Some((scheme, rest)) = whole.split_once("://") else {
            return Leads::Elsewhere;
        };
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Leads::Elsewhere;
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let is_ours = |scheme: &str| {
            let host = key::normalize_host(authority, scheme);
            host.is_some_and(|host| *host == self.host || *host == self.at)
        };
        // A site is the same over both schemes: the application may not know which one its clients use.
        if !is_ours(&scheme.to_ascii_lowercase()) && !is_ours("http") {
            return Leads::Elsewhere;
        }
        match normal(target) {
            target if target.len() > LONGEST_TARGET => Leads::TooLong,
            target => Leads::Here(target),
        }
    }

    /// Returns the base for the references of a page: the value of its `<base>`, or the page itself. A base that is
    /// longer than any target of the site may be is ignored: each reference would be joined to all of it.
    pub fn base(&self, page: &str, said: Option<&[u8]>) -> String {
        let own = format!("http://{}{page}", self.host);
        match said {
            Some(said) if said.len() <= LONGEST_TARGET => uri::join(&own, &as_browsers_read(said)),
            _ => own,
        }
    }
}

/// Returns a target in its normal form: with normalised percent-encoding, without dot segments, even encoded ones, and
/// without an empty query.
pub fn normal(target: &str) -> String {
    let encoded = encoded(target);
    let (path, query) = match encoded.split_once('?') {
        Some((path, query)) => (path, query),
        None => (encoded.as_str(), ""),
    };
    let path = uri::join("http://h/", rooted(&key::normalize(path)).as_bytes());
    let path = path.strip_prefix("http://h").unwrap_or("/");
    if query.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{}", key::normalize(query))
}

/// Writes a path so that resolution takes no part of it for an authority. If it does not begin with exactly one slash,
/// it is put behind `http://h`.
fn rooted(path: &str) -> Cow<'_, str> {
    if path.is_empty() {
        return Cow::Borrowed("/");
    }
    if path.starts_with("//") || !path.starts_with('/') {
        return Cow::Owned(format!(
            "http://h{}{path}",
            if path.starts_with('/') { "" } else { "/" }
        ));
    }
    Cow::Borrowed(path)
}

/// Percent-encodes what references may contain and requests may not (the path and query sets of the URL Standard).
fn encoded(target: &str) -> String {
    let mut text = String::with_capacity(target.len());
    for letter in target.chars() {
        match letter {
            '"' => text.push_str("%22"),
            '<' => text.push_str("%3C"),
            '>' => text.push_str("%3E"),
            '\\' => text.push_str("%5C"),
            '^' => text.push_str("%5E"),
            '`' => text.push_str("%60"),
            '{' => text.push_str("%7B"),
            '|' => text.push_str("%7C"),
            '}' => text.push_str("%7D"),
            letter => text.push(letter),
        }
    }
    text
}

/// Reads a reference in a document as browsers do (URL Standard, basic URL parser): removes line breaks and tabs, and
/// turns a backslash before the query into a slash.
fn as_browsers_read(reference: &[u8]) -> Vec<u8> {
    let mut before_query = true;
    let trimmed = reference.trim_ascii().iter();
    trimmed
        .filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'))
        .map(|byte| {
            before_query &= !matches!(byte, b'?' | b'#');
            match byte {
                b'\\' if before_query => b'/',
                byte => *byte,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn site() -> Site {
        Site::new("127.0.0.1:5001", Some("www.example.com")).expect("hosts")
    }

    #[test]
    fn references_lead() {
        for (base, reference, leads) in [
            ("/a/b", "c", Some("/a/c")),
            ("/a/b", "../../../x", Some("/x")),
            ("/a/b", "%2e%2e/%2E%2e/%2e./x", Some("/x")),
            ("/a/b", "?page=2#top", Some("/a/b?page=2")),
            ("/a/b", "", Some("/a/b")),
            ("/a/b", "?", Some("/a/b")),
            ("/", "/caf\u{e9}", Some("/caf%C3%A9")),
            ("/", "/%7euser/%c3%a9", Some("/~user/%C3%A9")),
            ("/", "/a b\n", Some("/a%20b")),
            ("/", "/a\n\tb", Some("/ab")),
            ("/", r"\a\b?c\d", Some("/a/b?c%5Cd")),
            ("/", "//www.example.com/x", Some("/x")),
            ("/", "//www.example.com", Some("/")),
            ("/", "https://WWW.example.com:443/x", Some("/x")),
            ("/", "http://www.example.com:80/x", Some("/x")),
            ("/", "http://127.0.0.1:5001/x", Some("/x")),
            ("/", "http://www.example.com?x=1", Some("/?x=1")),
            ("/", "http://www.example.com//x//y", Some("//x//y")),
            ("/", "//evil.example/x", None),
            ("/", "http://www.example.com:81/x", None),
            ("/", "http://www.example.com.evil.example/x", None),
            ("/", "http://www.example.com@evil.example/x", None),
            ("/", "http://user@www.example.com/x", None),
            ("/", "mailto:a@www.example.com", None),
            ("/", "javascript:void(0)", None),
            ("/", "data:text/html,x", None),
            ("/", "ftp://www.example.com/x", None),
        ] {
            let expected = leads.map_or(Leads::Elsewhere, |target| Leads::Here(target.to_owned()));
            assert_eq!(
                site().leads(base, reference.as_bytes()),
                expected,
                "{base} {reference}"
            );
        }
        let base = "/".to_owned() + &"x".repeat(LONGEST_TARGET);
        let page = site().base("/a/b", None);
        assert_eq!(site().base("/a/b", Some(base.as_bytes())), page);
        let long = format!("/{}", "x".repeat(LONGEST_TARGET));
        assert_eq!(site().leads("/", long.as_bytes()), Leads::TooLong);
    }

    proptest! {
        #[test]
        fn what_is_ours_is_normal_and_can_be_asked_for(reference in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Leads::Here(target) = site().leads("/a/b?c", &reference) {
                prop_assert!(target.starts_with('/'));
                prop_assert_eq!(normal(&target), target.clone());
                prop_assert!(target.split(['/', '?']).all(|part| part != ".."), "{}", target);
                prop_assert!(target.parse::<http::uri::PathAndQuery>().is_ok(), "{}", target);
            }
        }

        #[test]
        fn a_path_is_normal_after_once(path in "/[a./%2eE?&=]{0,24}") {
            let once = normal(&path);
            prop_assert_eq!(normal(&once), once);
        }
    }
}
