use super::*;
use crate::{
    policy::Matcher,
    sample::{fields, key_spec, policy, route},
};
use http::HeaderName;
use proptest::prelude::*;
use rules::key::{self, ParamPattern, QueryChoice};

#[test]
fn a_key_reads_as_the_uri_and_yields_what_is_sent() {
    let key = Key::build(&key_spec(), "http", "a.example", "/p", Some("q=1"));
    assert_eq!(key.text(), "http://a.example/p?q=1");
    assert_eq!(key.host(), "a.example");
    assert_eq!(key.path(), "/p");
    assert_eq!(key.path_and_query(), "/p?q=1");
}

#[test]
fn what_is_not_keyed_is_known_all_the_same() {
    let spec = KeySpec {
        scheme: false,
        host: false,
        ..key_spec()
    };
    let key = Key::build(&spec, "https", "a.example:8443", "/p", None);
    let other = Key::build(&spec, "http", "b.example", "/p", None);
    assert_eq!(key.as_bytes(), other.as_bytes());
    assert_eq!(key.text(), "///p");
    assert_eq!(key.host(), "a.example:8443");
    assert_eq!(key.path_and_query(), "/p");
}

#[test]
fn no_field_value_can_pass_for_two() {
    let spec = KeySpec {
        headers: ["x-a", "x-b"].map(HeaderName::from_static).into(),
        ..key_spec()
    };
    let route = route(Matcher::default(), policy(spec));
    let with = |lines: &[(&'static str, &str)]| {
        let mut key = Key::build(&route.policy.key, "http", "h", "/", None);
        key.extend(&route, &fields(lines));
        key
    };
    let all = [
        with(&[]),
        with(&[("x-a", "")]),
        with(&[("x-a", "1")]),
        with(&[("x-b", "1")]),
        with(&[("x-a", "1"), ("x-a", "1")]),
        with(&[("x-a", "1=1:1")]),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(all[index + 1..].iter().all(|other| other != one));
    }
}

#[test]
fn of_the_cookies_only_those_named_count() {
    let spec = KeySpec {
        cookies: vec!["currency".to_owned()],
        ..key_spec()
    };
    let route = route(Matcher::default(), policy(spec));
    let with = |cookies: &str| {
        let mut key = Key::build(&route.policy.key, "http", "h", "/", None);
        key.extend(&route, &fields(&[("cookie", cookies)]));
        key
    };
    assert_eq!(with("id=1; currency=eur"), with("currency=eur; id=2"));
    assert_ne!(with("currency=eur"), with("currency=usd"));
    assert_ne!(with("currency="), with("id=1"));
    assert_ne!(with("currency"), with("currency="));
}

/// What an application may take for a keyed cookie is keyed as written: the application decides which of several it
/// takes.
#[test]
fn a_cookie_that_may_pass_for_a_keyed_one_counts() {
    let keyed = |drop_cookies| {
        let spec = KeySpec {
            cookies: vec!["my_cur".to_owned()],
            drop_cookies,
            ..key_spec()
        };
        let route = route(Matcher::default(), policy(spec));
        move |cookies: &str| {
            let mut key = Key::build(&route.policy.key, "http", "h", "/", None);
            key.extend(&route, &fields(&[("cookie", cookies)]));
            key.text()
        }
    };
    let (with, alone) = (keyed(false), keyed(true));
    let lines = [
        "a=1",
        "my_cur=EUR",
        "my.cur=EUR",
        "my cur=EUR",
        "my%5Fcur=EUR",
        "my_cur[]=EUR",
        "my_cur=USD; my.cur=EUR",
        "my.cur=EUR; my_cur=USD",
        "my_cur=USD",
        "my_cur=my.cur; my_cur=EUR",
        "my_cur=EUR; my_cur=USD",
        "my_cur =EUR; my_cur=USD",
        "My_Cur=EUR",
        "MY_CUR=EUR; my_cur=USD",
        "my_cur= EUR",
        "\u{a0}my_cur=EUR",
        "my_cur\u{a0}=EUR",
        "b=1 my_cur=EUR",
        "b=1,my_cur=EUR",
        "secure my_cur=EUR",
        "my_cur=EUR my_cur=USD",
    ];
    for (at, line) in lines.iter().enumerate() {
        for (other_at, other) in lines.iter().enumerate() {
            assert_eq!(with(line) == with(other), at == other_at, "{line} {other}");
        }
        assert_eq!(with(line), with(&format!("my.c=1; {line}; mycur=2")));
    }
    assert_eq!(
        alone("my.cur=EUR"),
        alone("a=1"),
        "it does not reach the origin"
    );
}

fn params(written: &[&str]) -> Vec<ParamPattern> {
    written.iter().copied().map(ParamPattern::parse).collect()
}

fn choosing(query: QueryChoice, drop: &[&str], sort: bool) -> Policy {
    let drop = if drop.is_empty() {
        QueryChoice::All
    } else {
        QueryChoice::Except(params(drop))
    };
    policy(KeySpec {
        query,
        drop,
        sort,
        ..key_spec()
    })
}

#[test]
fn queries_as_chosen() {
    use QueryChoice::{All, Except, None as Nothing, Only};
    let only = |names| Only(params(names));
    let except = |names| Except(params(names));
    for (policy, written, expected) in [
        (choosing(All, &[], false), None, None),
        (choosing(All, &[], false), Some(""), Some("")),
        (choosing(All, &[], false), Some("b=%7e&a"), Some("b=~&a")),
        (choosing(All, &[], true), Some("b=1&a=2"), Some("a=2&b=1")),
        (
            choosing(All, &["utm_*"], false),
            Some("utm_a=1&b=2"),
            Some("b=2"),
        ),
        (
            choosing(All, &["utm_*"], false),
            Some("%75tm_a=1&b=2"),
            Some("b=2"),
        ),
        (choosing(All, &["utm_*"], false), Some("utm_a=1"), None),
        (choosing(Nothing, &[], false), Some("a=1"), None),
        (
            choosing(only(&["a"]), &[], false),
            Some("b=1&a=2&c=3"),
            Some("a=2"),
        ),
        (
            choosing(only(&["a", "b"]), &["b"], true),
            Some("b=1&a=2"),
            Some("a=2"),
        ),
        (
            choosing(except(&["a"]), &["b"], true),
            Some("d&c&b=1&a=2"),
            Some("c&d"),
        ),
    ] {
        let found = chosen(&policy, written.map(key::normalize));
        assert_eq!(found.as_deref(), expected, "{written:?} {:?}", policy.key);
    }
}

#[test]
fn keys_of_other_uris() {
    let policy = choosing(QueryChoice::All, &["utm_*"], true);
    for (uri, expected) in [
        ("http://A.Example:80", Some("http://a.example/")),
        ("http://a.example?b&a", Some("http://a.example/?a&b")),
        (
            "https://a.example/%7ep?utm_x=1",
            Some("https://a.example/~p"),
        ),
        ("https://a.example:80/", Some("https://a.example:80/")),
        ("HTTPS://a.example:443/", Some("https://a.example/")),
        ("a.example/p", None),
        ("http://user@a.example/", None),
    ] {
        let key = key_of(uri, &policy).map(|key| key.text());
        assert_eq!(key.as_deref(), expected, "{uri}");
    }
}

proptest! {
    #[test]
    fn what_is_chosen_is_chosen_again(query in "([abu](tm_)?[a-c]?(=(%7[eE]|%2f|[0-9]))?&?){0,6}", sort: bool) {
        let policy = choosing(QueryChoice::Except(params(&["b*"])), &["utm_*"], sort);
        if let Some(once) = chosen(&policy, Some(key::normalize(&query))) {
            let twice = chosen(&policy, Some(key::normalize(&once)));
            prop_assert_eq!(twice.as_deref(), Some(&*once));
        }
    }

    #[test]
    fn what_is_sent_is_a_part_of_what_is_keyed(path in "/[ -~]{0,12}", query in proptest::option::of("[ -~]{0,12}"), host: bool) {
        let spec = KeySpec { host, ..key_spec() };
        let key = Key::build(&spec, "http", "a.example", &path, query.as_deref());
        let sent = key.path_and_query();
        prop_assert!(key.text().ends_with(sent));
        prop_assert_eq!(sent, query.map_or(path.clone(), |query| format!("{path}?{query}")));
        prop_assert_eq!(key.host(), "a.example");
    }
}
