use super::*;
use crate::{
    policy::{HostPattern, KeySpec, Matcher, PathPattern, Route},
    sample::{key_spec, policy, route, site},
};
use proptest::prelude::*;
use rules::key::{ParamPattern, QueryChoice};
use store::purge::{On, Pattern};

fn at(path: &str, spec: KeySpec) -> Route {
    let matcher = Matcher {
        paths: vec![PathPattern::Prefix(path.into())],
        ..Matcher::default()
    };
    route(matcher, policy(spec))
}

/// A site with routes for each kind of key.
fn several() -> Site {
    let sorted = KeySpec {
        sort: true,
        drop: QueryChoice::Except(vec![ParamPattern::Prefix("utm_".into())]),
        ..key_spec()
    };
    let hostless = KeySpec {
        host: false,
        scheme: false,
        ..key_spec()
    };
    let one_host = Matcher {
        hosts: vec![HostPattern::Exact("b.example".into())],
        ..Matcher::default()
    };
    let by_method = Matcher {
        methods: vec![http::Method::GET],
        paths: vec![PathPattern::Prefix("/mixed/".into())],
        ..Matcher::default()
    };
    let routes = vec![
        at("/sorted/", sorted),
        at("/all/", hostless.clone()),
        route(one_host, policy(hostless.clone())),
        route(by_method, policy(hostless)),
        route(Matcher::default(), policy(key_spec())),
    ];
    Site {
        routes: routes.into(),
        ..site(policy(key_spec()))
    }
}

#[test]
fn urls_become_the_addresses_of_keys() {
    let site = several();
    for (given, expected) in [
        ("http://a.example/x", Some(&["//a.example/x"][..])),
        ("https://A.example:443/x", Some(&["//a.example/x"])),
        ("HTTP://a.example:80/x", Some(&["//a.example/x"])),
        ("Https://a.example:80/x", Some(&["//a.example:80/x"])),
        ("http://a.example:8080", Some(&["//a.example:8080/"])),
        ("http://a.example?q", Some(&["//a.example/?q"])),
        ("http://a.example/%7ex%2f", Some(&["//a.example/~x%2F"])),
        ("http://a.example/x#part", Some(&["//a.example/x"])),
        (
            "http://a.example/sorted/?b=2&utm_source=m&a=1",
            Some(&[
                "//a.example/sorted/?a=1&b=2",
                "//a.example/sorted/?b=2&utm_source=m&a=1",
            ]),
        ),
        // The last route matches everything, and so could be taken as far as is known.
        (
            "http://a.example/all/x",
            Some(&["///all/x", "//a.example/all/x"]),
        ),
        ("http://b.example/x", Some(&["///x", "//b.example/x"])),
        ("http://a.example/é", Some(&["//a.example/%C3%A9"])),
        (
            "http://a.example/<\">?`",
            Some(&["//a.example/%3C%22%3E?%60"]),
        ),
        ("//a.example/x", None),
        ("/x", None),
        ("a.example/x", None),
        ("ftp://a.example/x", None),
        ("http:///x", None),
        ("http://u@a.example/x", None),
        ("http://a.example:99999/x", None),
        ("http://a.example/a b", None),
        ("http://a.example/\n", None),
        ("http://", None),
        ("", None),
    ] {
        let expected = expected.map(|list| {
            let list = list.iter().map(|text| (*text).to_owned());
            What::Url(list.collect())
        });
        assert_eq!(url(&site, given), expected, "{given}");
    }
}

/// So a purge covers what was stored before the site keyed it otherwise.
#[test]
fn urls_are_also_named_as_they_are_written() {
    let drops = QueryChoice::Except(vec![ParamPattern::Prefix("utm_".into())]);
    for (spec, expected) in [
        (
            KeySpec {
                sort: true,
                drop: drops,
                ..key_spec()
            },
            ["//a.example/?a=%2F&b=2", "//a.example/?b=2&utm_x=1&a=%2F"],
        ),
        (
            KeySpec {
                host: false,
                ..key_spec()
            },
            ["///?b=2&utm_x=1&a=%2F", "//a.example/?b=2&utm_x=1&a=%2F"],
        ),
    ] {
        let expected = expected.map(str::to_owned).to_vec();
        let site = site(policy(spec));
        let found = url(&site, "https://A.example:443?b=2&utm_x=1&a=%2f#part");
        assert_eq!(found, Some(What::Url(expected)));
    }
}

fn all(path: &str) -> What {
    What::Prefix {
        host: None,
        path: path.to_owned(),
    }
}

fn of(host: &str, path: &str) -> What {
    What::Prefix {
        host: Some(host.to_owned()),
        path: path.to_owned(),
    }
}

fn exactly(target: &str) -> What {
    let pattern = Pattern::default().with(On::Target, target);
    What::Pattern(Box::new(pattern.expect("an expression")))
}

#[test]
fn prefixes() {
    for (given, expected) in [
        ("/a", Some(all("/a"))),
        ("/", Some(all("/"))),
        ("/a?b=", Some(all("/a?b="))),
        ("http://H.example/%61", Some(of("h.example", "/a"))),
        ("https://h.example:443", Some(of("h.example", "/"))),
        ("HTTPS://h.example:443/a", Some(of("h.example", "/a"))),
        ("FTP://h.example/a", None),
        ("/é", Some(all("/%C3%A9"))),
        ("/\"<", Some(all("/%22%3C"))),
        ("a", None),
        ("", None),
        ("//h/a", None),
        ("/a b", None),
        ("http://h h/a", None),
    ] {
        let expected = expected.map(|what| vec![what]);
        assert_eq!(prefix(&several(), given), expected, "{given}");
    }
}

/// Everything with the path and a query is purged, and the path alone where all of the query may be dropped.
#[test]
fn prefixes_that_end_in_a_query_which_is_keyed_otherwise() {
    for (given, expected) in [
        ("http://h.example/x?b=", vec![of("h.example", "/x?b=")]),
        ("http://h.example?b=", vec![of("h.example", "/?b=")]),
        (
            "http://h.example/sorted/?b=",
            vec![of("h.example", "/sorted/?")],
        ),
        ("/sorted/?b=", vec![all("/sorted/?")]),
        (
            "/sorted/?utm_source=",
            vec![exactly(r"^/sorted/$"), all("/sorted/?")],
        ),
        (
            "/%73orted/a.b?utm_source=",
            vec![exactly(r"^/sorted/a\.b$"), all("/sorted/a.b?")],
        ),
        (
            "/sorted/?ut",
            vec![exactly(r"^/sorted/$"), all("/sorted/?")],
        ),
        (
            "/sorted/?utm_source=m&",
            vec![exactly(r"^/sorted/$"), all("/sorted/?")],
        ),
        ("/sorted/?b=1&ut", vec![all("/sorted/?")]),
        (
            "http://h.example/sorted/?",
            vec![
                What::Url(vec!["//h.example/sorted/".to_owned()]),
                of("h.example", "/sorted/?"),
            ],
        ),
        (
            "http://h.example:81/sorted/?utm_source=",
            vec![
                What::Url(vec!["//h.example:81/sorted/".to_owned()]),
                of("h.example:81", "/sorted/?"),
            ],
        ),
    ] {
        assert_eq!(prefix(&several(), given), Some(expected), "{given}");
    }
}

#[test]
fn hosts_with_either_port() {
    let hosts = |list: &[&str]| {
        let list = list.iter().map(|host| What::Host((*host).to_owned()));
        Some(list.collect::<Vec<_>>())
    };
    for (given, expected) in [
        ("A.Example.", hosts(&["a.example"])),
        ("a.example:8080", hosts(&["a.example:8080"])),
        ("a.example:80", hosts(&["a.example", "a.example:80"])),
        ("[0:0::1]", hosts(&["[::1]"])),
        ("http://a.example", None),
        ("a.example/x", None),
        ("", None),
    ] {
        assert_eq!(host(given), expected, "{given}");
    }
}

#[test]
fn groups_are_of_one_host() {
    let names = ["b", "a b", "b"].map(str::to_owned);
    let all = |list: &[&str]| {
        Some(What::Tags(
            list.iter().map(|&text| text.to_owned()).collect(),
        ))
    };
    for (host, expected) in [
        (
            "A.example:443",
            all(&[
                "group http://a.example:443 a b",
                "group http://a.example:443 b",
                "group https://a.example a b",
                "group https://a.example b",
            ]),
        ),
        ("", None),
        ("a.example/x", None),
        ("http://a.example", None),
    ] {
        assert_eq!(groups(host, &names), expected, "{host}");
    }
}

proptest! {
    /// A purge of a URL names everything that a request for it is stored under.
    #[test]
    fn a_purge_of_a_url_names_its_keys(path in "/(sorted/|all/|mixed/)?[a-z%4/.]{0,6}", query in prop::option::of("[a-z=&%_]{0,8}")) {
        let site = several();
        let query = query.map_or_else(String::new, |query| format!("?{query}"));
        let uri = format!("http://a.example{path}{query}");
        let normal = key::normalize(&path);
        let fields = HeaderMap::new();
        let subject = Subject {
            host: "a.example",
            path: &normal,
            query: query.strip_prefix('?'),
            method: &Method::GET,
            fields: &fields,
            client: routing::Client::default(),
        };
        let route = &site.routes[routing::choose(&site.routes, &subject)];
        let query = ask::chosen(&route.policy, query.strip_prefix('?').map(key::normalize));
        let key = Key::build(&route.policy.key, "http", "a.example", &normal, query.as_deref());
        let Some(What::Url(named)) = url(&site, &uri) else {
            return Err(TestCaseError::fail("a URL"));
        };
        prop_assert!(named.contains(&Address::of(key.as_bytes()).text()));
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,24}|(https?://)?[-a-z.:/?#%@\\[\\]é ]{0,20}") {
        let site = several();
        let _ = (url(&site, &text), prefix(&site, &text), host(&text));
    }
}
