//! What belongs to a site: references become targets of requests, or are somebody else's.

use rules::{key, uri};
use std::borrow::Cow;

/// Longest target that is followed, in bytes. Servers refuse longer ones as well (RFC 9110 section 4.1 asks for 8000; what is
/// linked is far below that, unless it grows with each page).
pub const LONGEST_TARGET: usize = 4096;

/// A site, by the names it goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The host that requests name, and by which pages know themselves: with a port where it is not the scheme's own.
    host: String,
    /// Where the application is asked, which is the site as well.
    at: String,
}

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To this target of the site: path and query, normalised.
    Here(String),
    /// To another site, or to what is not fetched by HTTP.
    Elsewhere,
    /// To a target of the site that is longer than [`LONGEST_TARGET`].
    TooLong,
}

impl Site {
    /// The site that is asked at `at`, with this `host` if it has another name. `None`: one of them is no host.
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

    /// Where `reference` leads, seen on the page `base` (a target of this site).
    pub fn leads(&self, base: &str, reference: &[u8]) -> Leads {
        self.leads_from(&format!("http://{}{base}", self.host), reference)
    }

    /// As [`leads`](Self::leads), seen from a whole URL.
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
        // A site is one over both schemes: the application may not know by which its readers come.
        if !is_ours(&scheme.to_ascii_lowercase()) && !is_ours("http") {
            return Leads::Elsewhere;
        }
        match normal(target) {
            target if target.len() > LONGEST_TARGET => Leads::TooLong,
            target => Leads::Here(target),
        }
    }

    /// The base for the references of a page: what its `<base>` says, or the page itself. A base that no target of the site can
    /// be as long as is not believed: each reference would be joined to all of it.
    pub fn base(&self, page: &str, said: Option<&[u8]>) -> String {
        let own = format!("http://{}{page}", self.host);
        match said {
            Some(said) if said.len() <= LONGEST_TARGET => uri::join(&own, &as_browsers_read(said)),
            _ => own,
        }
    }
}

/// A target in the one form in which it is known here: percent-encoding normalised, no dot segments, encoded ones neither, no
/// empty query.
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

/// A path that begins with one slash for resolution, so that none of it passes for an authority.
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

/// What requests must not hold although references do, percent-encoded (the path and query sets of the URL Standard).
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

/// References in documents as browsers read them (URL Standard, basic URL parser): line breaks and tabs go, and before the
/// query a backslash is a slash.
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
