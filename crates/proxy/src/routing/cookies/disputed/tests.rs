use super::*;
use crate::{
    policy::{Matcher, TextPattern},
    sample::{fields, key_spec, policy, route},
};
use proptest::prelude::*;

fn keyed_by(names: &[&str]) -> Route {
    let spec = KeySpec {
        cookies: names.iter().map(ToString::to_string).collect(),
        ..key_spec()
    };
    route(Matcher::default(), policy(spec))
}

fn sent(route: &Route, line: &str) -> String {
    let mut fields = fields(&[("cookie", line)]);
    put_chosen_first(&mut fields, route);
    fields[header::COOKIE].to_str().unwrap().to_owned()
}

#[test]
fn a_line_is_plain_if_all_find_the_same_cookies_in_it() {
    for (line, plain) in [
        ("a=1", true),
        ("a=1; b=2;c=3", true),
        ("a=", true),
        ("a=\"1\"; b=1=2", true),
        ("a={1:[2]}/(x)?@", true),
        ("a=\"1", false),
        ("a=1\"", false),
        ("a=\"", false),
        ("a=\"1;2\"", false),
        ("a={\"b\":1}", false),
        ("a=1 2", false),
        ("a=1,2", false),
        ("a=1\\2", false),
        ("a=\u{e9}", false),
        ("a =1", false),
        ("a=1 ", false),
        ("a", false),
        ("=a", false),
        ("a[b]=1", false),
        ("", false),
        ("a=1;", false),
        ("; a=1", false),
        ("a=1;; b=2", false),
        ("$Version=1; a=1", false),
        ("Version=1; a=1", false),
        ("a=1; path=/", false),
    ] {
        assert_eq!(is_plain(line.as_bytes()), plain, "{line}");
    }
    // With more of them, some applications leave out those behind.
    let line = |count| vec!["a=1"; count].join("; ");
    assert!(is_plain(line(MOST - 1).as_bytes()) && !is_plain(line(MOST).as_bytes()));
}

#[test]
fn what_is_chosen_stands_before_what_may_hide_it() {
    let route = keyed_by(&["currency", "lang"]);
    for (line, expected) in [
        ("x=1; currency=USD", "x=1; currency=USD"),
        ("x={\"a\":1}; y=2", "x={\"a\":1}; y=2"),
        ("x=\"; currency=USD; y=\"", "currency=USD; x=\"; y=\""),
        (
            "x=\"; lang=de; currency=USD; y=\"; currency=EUR",
            "currency=USD; currency=EUR; lang=de; x=\"; y=\"",
        ),
        (
            "x=1 currency=EUR; currency=USD",
            "x=1 currency=EUR; currency=USD",
        ),
        // No white space is left at the end of a line (RFC 9113 section 8.2.1).
        ("; currency=USD", "currency=USD;"),
        ("currency=USD;", "currency=USD;"),
        ("x=1 ;currency=USD", "currency=USD; x=1"),
        ("version=1; currency=USD", "currency=USD; version=1"),
    ] {
        assert_eq!(sent(&route, line), expected, "{line}");
    }
}

#[test]
fn a_cookie_that_a_route_matches_is_chosen_if_the_application_gets_it() {
    let beta = NamePattern {
        name: TextPattern::Prefix("bet".into()),
        value: None,
    };
    let matcher = || Matcher {
        cookies: vec![beta.clone()],
        ..Matcher::default()
    };
    let line = "x=\"; beta=1; y=\"";
    let takes_all = route(matcher(), policy(key_spec()));
    assert_eq!(sent(&takes_all, line), "beta=1; x=\"; y=\"");
    let spec = KeySpec {
        drop_cookies: true,
        ..key_spec()
    };
    assert_eq!(sent(&route(matcher(), policy(spec)), line), line);
}

proptest! {
    /// A line that is put in order begins with what is chosen, in the order of the key. It still counts as disputed,
    /// unless that was for white space that is now at its end.
    #[test]
    fn what_begins_a_line_is_told_by_the_key(line in "([abc]=[\"x ,]{0,3}; ?|[ab,\" ;=\\\\]){0,9}") {
        let route = keyed_by(&["a", "b"]);
        let before = fields(&[("cookie", &line)]);
        let mut after = before.clone();
        put_chosen_first(&mut after, &route);
        let all = |fields: &HeaderMap| {
            let mut all: Vec<_> = pairs(fields[header::COOKIE].as_bytes()).map(<[u8]>::to_vec).collect();
            all.sort();
            all
        };
        let is_trimmed = all(&before) != all(&after);
        prop_assert!(is_trimmed || may_hide_chosen(&route, &before) == may_hide_chosen(&route, &after));
        prop_assert!(!after[header::COOKIE].as_bytes().ends_with(b" ") || before == after);
        let chosen = Chosen::by(&route);
        let places = |fields: &HeaderMap| -> Vec<_> {
            pairs(fields[header::COOKIE].as_bytes())
                .map(|pair| chosen.place(pair).unwrap_or(usize::MAX))
                .collect()
        };
        if may_hide_chosen(&route, &before) {
            prop_assert!(places(&after).is_sorted());
        } else {
            prop_assert_eq!(before, after);
        }
    }
}
