//! The digest of a route in cache keys.

use crate::policy::{FieldPattern, HostPattern, Matcher, NamePattern, PathPattern, TextPattern};
use regex::Regex;
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_64;

/// Returns a digest of what a route matches and of the names of its origins. It does not depend on the route's
/// position, and differs from other routes' digests. It is the same after every restart, with every version and on
/// every node. So the text that it is made of is defined here and must not change: the entries of each list in byte
/// order, with their lengths.
pub fn digest(matcher: &Matcher, origins: &[&str]) -> u64 {
    let mut text = String::new();
    let mut list = |kind: &str, entries: Vec<String>| {
        text.push_str(kind);
        for entry in entries {
            let _ = write!(text, " {}:{entry}", entry.len());
        }
        text.push('\n');
    };
    list("host", sorted(&matcher.hosts, host));
    list("path", sorted(&matcher.paths, path));
    list("method", sorted(&matcher.methods, ToString::to_string));
    list("header", sorted(&matcher.headers, field));
    list("cookie", sorted(&matcher.cookies, named));
    list("query", sorted(&matcher.query, named));
    list(
        "client",
        sorted(&matcher.clients, |net| net.trunc().to_string()),
    );
    // The first origin that has the answer gives it: their order counts.
    list("origin", origins.iter().map(ToString::to_string).collect());
    xxh3_64(text.as_bytes())
}

fn sorted<T>(list: &[T], text: impl Fn(&T) -> String) -> Vec<String> {
    let mut all: Vec<_> = list.iter().map(text).collect();
    all.sort_unstable();
    all
}

fn host(pattern: &HostPattern) -> String {
    match pattern {
        HostPattern::Any => "any".to_owned(),
        HostPattern::Exact(host) => format!("exact {host}"),
        HostPattern::Suffix(host) => format!("below {host}"),
    }
}

fn path(pattern: &PathPattern) -> String {
    match pattern {
        PathPattern::Exact(path) => format!("exact {path}"),
        PathPattern::Prefix(path) => format!("prefix {path}"),
        PathPattern::Wildcard(regex) | PathPattern::Regex(regex) => format!("regex {regex}"),
    }
}

fn field(pattern: &FieldPattern) -> String {
    with_value(pattern.name.as_str(), pattern.value.as_ref())
}

fn named(pattern: &NamePattern) -> String {
    let name = match &pattern.name {
        TextPattern::Exact(name) => format!("exact {name}"),
        TextPattern::Prefix(name) => format!("prefix {name}"),
        TextPattern::Regex(regex) | TextPattern::CookieRegex { written: regex, .. } => {
            format!("regex {regex}")
        }
    };
    with_value(&name, pattern.value.as_ref())
}

fn with_value(name: &str, value: Option<&Regex>) -> String {
    match value {
        None => format!("{}:{name}", name.len()),
        Some(value) => format!("{}:{name} {value}", name.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn text(pattern: &str) -> Regex {
        Regex::new(pattern).expect("valid")
    }

    /// One entry of each kind.
    fn of_each_kind() -> Matcher {
        let name = |name, value| NamePattern { name, value };
        let names = vec![
            name(TextPattern::Exact("a".into()), Some(text("^1$"))),
            name(TextPattern::Prefix("b".into()), None),
            name(TextPattern::Regex(text("^c")), None),
        ];
        Matcher {
            hosts: vec![
                HostPattern::Exact("a.example".into()),
                HostPattern::Suffix("b.example".into()),
                HostPattern::Any,
            ],
            paths: vec![
                PathPattern::Exact("/a".into()),
                PathPattern::Prefix("/b/".into()),
                PathPattern::Wildcard(text("^/c$")),
                PathPattern::Regex(text("^/d$")),
            ],
            methods: vec![Method::GET, Method::HEAD],
            headers: vec![FieldPattern {
                name: http::header::USER_AGENT,
                value: Some(text("Mobile")),
            }],
            cookies: names.clone(),
            query: names,
            clients: vec!["10.0.0.0/8".parse().expect("a network")],
        }
    }

    /// Nodes of different versions must find each other's pages, and each node its own after an upgrade.
    #[test]
    fn it_stays_as_it_is() {
        let found = [
            digest(&Matcher::default(), &["origin"]),
            digest(&of_each_kind(), &["a", "b"]),
        ];
        assert_eq!(found, [0x7c60_2589_6884_a436, 0xb84a_01e4_83fa_3e38]);
    }

    #[test]
    fn whatever_differs_makes_another_and_order_does_not() {
        let whole = digest(&of_each_kind(), &["a", "b"]);
        let mut turned = of_each_kind();
        turned.hosts.reverse();
        turned.cookies.reverse();
        turned.methods.reverse();
        assert_eq!(digest(&turned, &["a", "b"]), whole);
        let without: [fn(&mut Matcher); 9] = [
            |matcher| matcher.hosts.clear(),
            |matcher| matcher.paths.clear(),
            |matcher| matcher.methods.clear(),
            |matcher| matcher.headers.clear(),
            |matcher| matcher.cookies.clear(),
            |matcher| matcher.query.clear(),
            |matcher| matcher.clients.clear(),
            |matcher| matcher.headers.iter_mut().for_each(|one| one.value = None),
            |matcher| matcher.query.iter_mut().for_each(|one| one.value = None),
        ];
        let mut all = vec![whole];
        for change in without {
            let mut less = of_each_kind();
            change(&mut less);
            all.push(digest(&less, &["a", "b"]));
        }
        for origins in [&["b", "a"][..], &["a"], &["ab"], &[]] {
            all.push(digest(&of_each_kind(), origins));
        }
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
