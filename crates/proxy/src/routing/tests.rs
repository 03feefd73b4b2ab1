use super::*;
use crate::sample::{fields, key_spec, policy, route};
use http::{HeaderValue, header};
use ipnet::IpNet;
use proptest::prelude::*;
use regex::Regex;
use std::net::IpAddr;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("valid")
}

fn named(name: TextPattern, value: Option<&str>) -> NamePattern {
    NamePattern {
        name,
        value: value.map(regex),
    }
}

#[test]
fn hosts() {
    let suffix = HostPattern::Suffix("example.com".into());
    let exact = HostPattern::Exact("example.com".into());
    for (pattern, host, expected) in [
        (&exact, "example.com", true),
        (&exact, "a.example.com", false),
        (&suffix, "a.example.com", true),
        (&suffix, "a.b.example.com", true),
        (&suffix, "example.com", false),
        (&suffix, "badexample.com", false),
        (&suffix, ".example.com", false),
        (&HostPattern::Any, "", true),
    ] {
        assert_eq!(pattern.matches(host), expected, "{pattern:?} {host}");
    }
    for (host, expected) in [
        ("a.example", "a.example"),
        ("a.example:8080", "a.example"),
        ("[::1]", "[::1]"),
        ("[::1]:80", "[::1]"),
        ("", ""),
    ] {
        assert_eq!(without_port(host), expected);
    }
}

#[test]
fn paths() {
    let exact = PathPattern::Exact("/a".into());
    let prefix = PathPattern::Prefix("/a/".into());
    let wildcard = PathPattern::Wildcard(regex("^/u/[^/]*/orders$"));
    for (pattern, path, expected) in [
        (&exact, "/a", true),
        (&exact, "/A", false),
        (&exact, "/a/", false),
        (&prefix, "/a/", true),
        (&prefix, "/a/b", true),
        (&prefix, "/a", false),
        (&wildcard, "/u/7/orders", true),
        (&wildcard, "/u/7/8/orders", false),
    ] {
        assert_eq!(pattern.matches(path), expected, "{pattern:?} {path}");
    }
}

#[test]
fn header_fields() {
    let sent = fields(&[("x-a", "one"), ("x-a", "two"), ("x-empty", "")]);
    for (name, value, expected) in [
        ("x-a", None, true),
        ("x-a", Some("^two$"), true),
        ("x-a", Some("^one, two$"), false),
        ("x-empty", None, true),
        ("x-b", None, false),
        ("x-b", Some(".*"), false),
    ] {
        let pattern = FieldPattern {
            name: name.parse().expect("a name"),
            value: value.map(regex),
        };
        assert_eq!(pattern.matches(&sent), expected, "{pattern:?}");
    }
}

#[test]
fn cookies_and_parameters_by_name_and_value() {
    let exact = |name: &str| TextPattern::Exact(name.into());
    let prefix = TextPattern::Prefix("wp_".into());
    let sent = fields(&[("cookie", "a=1; wp_x=2"), ("cookie", "b=")]);
    let query = Some("a=1&wp_x=2&b");
    for (pattern, expected) in [
        (named(exact("a"), None), true),
        (named(exact("a"), Some("^1$")), true),
        (named(exact("a"), Some("^2$")), false),
        (named(exact("d"), None), false),
        (named(exact("b"), Some("^$")), true),
        (named(prefix.clone(), Some("2")), true),
        (named(TextPattern::Regex(regex("^w.*x$")), None), true),
        (named(exact("c"), None), false),
    ] {
        let patterns = std::slice::from_ref(&pattern);
        assert_eq!(any_cookie_is(patterns, &sent), expected, "{pattern:?}");
        assert_eq!(any_cookie_matches(patterns, &sent), expected, "{pattern:?}");
        assert_eq!(query_matches(&pattern, query), expected, "{pattern:?}");
        assert!(!query_matches(&pattern, None));
    }
}

#[test]
fn each_list_must_hold_and_one_of_its_entries_is_enough() {
    let matcher = Matcher {
        paths: vec![
            PathPattern::Exact("/a".into()),
            PathPattern::Exact("/b".into()),
        ],
        methods: vec![Method::GET],
        clients: vec!["10.0.0.0/8".parse().expect("a network")],
        ..Matcher::default()
    };
    let none = HeaderMap::new();
    for (path, method, client, expected) in [
        ("/a", Method::GET, Some([10, 0, 0, 1]), true),
        ("/b", Method::GET, Some([10, 0, 0, 1]), true),
        ("/c", Method::GET, Some([10, 0, 0, 1]), false),
        ("/a", Method::HEAD, Some([10, 0, 0, 1]), true),
        ("/a", Method::POST, Some([10, 0, 0, 1]), false),
        ("/a", Method::GET, Some([11, 0, 0, 1]), false),
        ("/a", Method::GET, None, false),
    ] {
        let subject = Subject {
            host: "a.example",
            path,
            query: None,
            method: &method,
            fields: &none,
            client: Client {
                peer: client.map_or(Peer::OnSocket, |client| Peer::At(client.into())),
                trusted: &[],
            },
        };
        let cookies = Cookies::of(&none);
        assert_eq!(matcher.matches(&subject, &cookies), expected, "{subject:?}");
        let could_match =
            is_for_host(&matcher, &subject) && may_match_on_its_hosts(&matcher, &subject);
        assert_eq!(could_match, path != "/c", "{subject:?}");
    }
    assert!(matcher.looks_beyond(&key_spec()));
}

#[test]
fn a_route_is_part_of_the_key_where_it_is_chosen_by_what_is_not() {
    let by_host = Matcher {
        hosts: vec![HostPattern::Exact("a.example".into())],
        ..Matcher::default()
    };
    let by_query = Matcher {
        query: vec![NamePattern {
            name: TextPattern::Exact("beta".into()),
            value: None,
        }],
        ..Matcher::default()
    };
    let spec = |host, query, drop| KeySpec {
        host,
        query,
        drop,
        ..key_spec()
    };
    let all = || QueryChoice::All;
    for (host, query, drop, beyond) in [
        (true, all(), all(), (false, false)),
        (false, all(), all(), (true, false)),
        (true, QueryChoice::None, all(), (false, true)),
        (true, all(), QueryChoice::Except(vec![]), (false, true)),
    ] {
        let spec = spec(host, query, drop);
        let found = (by_host.looks_beyond(&spec), by_query.looks_beyond(&spec));
        assert_eq!(found, beyond, "{spec:?}");
    }
}

/// One entry of every kind of pattern.
fn one_of_each() -> Vec<Matcher> {
    let names = || {
        vec![
            named(TextPattern::Exact("a".into()), Some("^1$")),
            named(TextPattern::Prefix("é".into()), None),
            named(TextPattern::Regex(regex(".")), None),
        ]
    };
    let hosts = vec![
        HostPattern::Suffix("é.example".into()),
        HostPattern::Exact("h".into()),
    ];
    let paths = vec![
        PathPattern::Prefix("/é".into()),
        PathPattern::Regex(regex("^/.$")),
    ];
    let headers = vec![FieldPattern {
        name: http::header::COOKIE,
        value: Some(regex("x")),
    }];
    let matcher = Matcher::default;
    vec![
        Matcher { hosts, ..matcher() },
        Matcher { paths, ..matcher() },
        Matcher {
            headers,
            ..matcher()
        },
        Matcher {
            cookies: names(),
            ..matcher()
        },
        Matcher {
            query: names(),
            ..matcher()
        },
    ]
}

proptest! {
    #[test]
    fn whatever_is_asked_some_route_is_taken(
        host: String,
        path: String,
        query: Option<String>,
        cookie in prop::collection::vec(0x20_u8..=0xff, 0..40),
    ) {
        let mut routes: Vec<_> = one_of_each().into_iter().map(|matcher| route(matcher, policy(key_spec()))).collect();
        routes.push(route(Matcher::default(), policy(key_spec())));
        let mut fields = HeaderMap::new();
        if let Ok(cookie) = HeaderValue::from_bytes(&cookie) {
            fields.insert(header::COOKIE, cookie);
        }
        let subject = Subject {
            host: without_port(&host),
            path: &path,
            query: query.as_deref(),
            method: &Method::GET,
            fields: &fields,
            client: Client::default(),
        };
        let routes: Routes = routes.into();
        let taken = choose(&routes, &subject);
        let matches = |route: &crate::policy::Route| route.matcher.matches(&subject, &Cookies::of(&fields));
        prop_assert!(matches(&routes[taken]) && !routes[..taken].iter().any(matches));
    }
}

/// A line that need not be ASCII.
fn bytes(line: &str) -> HeaderValue {
    HeaderValue::from_bytes(line.as_bytes()).expect("a line")
}

#[test]
fn a_client_is_whom_trusted_proxies_speak_for() {
    let trusted: Vec<IpNet> = ["10.0.0.0/8", "2001:db8::/32"]
        .iter()
        .map(|net| net.parse().expect("a network"))
        .collect();
    for (peer, lines, expected) in [
        ("192.0.2.1", &["198.51.100.7"][..], "192.0.2.1"),
        ("10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
        (
            "10.0.0.1",
            &["6.6.6.6, 198.51.100.7, 10.0.0.2"],
            "198.51.100.7",
        ),
        ("10.0.0.1", &["6.6.6.6", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", &["::ffff:198.51.100.7"], "198.51.100.7"),
        (
            "10.0.0.1",
            &["198.51.100.7, ::ffff:10.0.0.2"],
            "198.51.100.7",
        ),
        (
            "2001:db8::1",
            &["2001:db8:1::7, 2001:db9::7"],
            "2001:db9::7",
        ),
        // A client that the proxy does not name may be anybody, and certainly not the proxy.
        ("10.0.0.1", &["198.51.100.7, unknown"], ""),
        ("10.0.0.1", &["unknown, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", &["é, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", &["198.51.100.7, é"], ""),
        ("10.0.0.1", &["\"10.0.0.9, 198.51.100.7"], "198.51.100.7"),
        (
            "10.0.0.1",
            &["10.0.0.9", "198.51.100.7,", " ,"],
            "198.51.100.7",
        ),
        ("10.0.0.1", &["198.51.100.7:80"], "198.51.100.7"),
        ("10.0.0.1", &["[2001:db9::7]"], "2001:db9::7"),
        ("10.0.0.1", &["[2001:db9::7]:443"], "2001:db9::7"),
        ("10.0.0.1", &["198.51.100.7:x"], ""),
        ("10.0.0.1", &[""], "10.0.0.1"),
        ("10.0.0.1", &[], "10.0.0.1"),
        ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
    ] {
        let mut fields = HeaderMap::new();
        for line in lines {
            fields.append("x-forwarded-for", bytes(line));
        }
        let client = Client {
            peer: Peer::At(peer.parse().expect("an address")),
            trusted: &trusted,
        };
        let told = client.address(&fields).map(|address| address.to_string());
        assert_eq!(told.unwrap_or_default(), expected, "{peer} {lines:?}");
    }
}

#[test]
fn whoever_asks_over_a_unix_socket_is_believed_and_a_nameless_peer_is_not() {
    let trusted = ["10.0.0.0/8".parse().expect("a network")];
    let mut fields = HeaderMap::new();
    assert_eq!(Client::default().address(&fields), None, "a Unix socket");
    fields.insert("x-forwarded-for", HeaderValue::from_static("198.51.100.7"));
    let told = Some(IpAddr::from([198, 51, 100, 7]));
    assert_eq!(Client::default().address(&fields), told, "a Unix socket");
    let nameless = Client {
        peer: Peer::Nameless,
        trusted: &trusted,
    };
    assert_eq!(nameless.address(&fields), None);
    assert!(!nameless.is_believed());
}

/// A peer, its lines of `Forwarded`, and the client's address and scheme.
type Named = (
    &'static str,
    &'static [&'static str],
    Option<&'static str>,
    Option<&'static str>,
);

const NAMED: &[Named] = &[
    (
        "192.0.2.1",
        &["for=6.6.6.6;proto=https"],
        Some("192.0.2.1"),
        None,
    ),
    (
        "10.0.0.1",
        &["for=6.6.6.6;proto=https"],
        Some("6.6.6.6"),
        Some("https"),
    ),
    (
        "10.0.0.1",
        &["for=\"[2001:db8::1]:4\";proto=HTTP"],
        Some("2001:db8::1"),
        Some("http"),
    ),
    (
        "10.0.0.1",
        &["for=7.7.7.7;proto=http, for=6.6.6.6;proto=https, for=10.0.0.2;proto=http"],
        Some("6.6.6.6"),
        Some("https"),
    ),
    (
        "10.0.0.1",
        &["for=6.6.6.6;proto=https", "for=10.0.0.2"],
        Some("6.6.6.6"),
        Some("https"),
    ),
    (
        "10.0.0.1",
        &["for=6.6.6.6;proto=http, for=_x;proto=https"],
        None,
        Some("https"),
    ),
    ("10.0.0.1", &["proto=https"], None, Some("https")),
    (
        "10.0.0.1",
        &["for=\"é\", for=6.6.6.6;proto=https"],
        Some("6.6.6.6"),
        Some("https"),
    ),
    ("10.0.0.1", &["for=6.6.6.6, for=é"], None, None),
    (
        "10.0.0.1",
        &["for=6.6.6.6;proto=ftp"],
        Some("6.6.6.6"),
        None,
    ),
    // If the entry cannot be read, the client is unknown, and certainly not the proxy.
    ("10.0.0.1", &["for=\"6.6.6.6"], None, None),
    (
        "10.0.0.1",
        &["for=\"7.7.7.7, for=6.6.6.6;proto=https"],
        Some("6.6.6.6"),
        Some("https"),
    ),
    (
        "10.0.0.1",
        &["for=\"7.7.7.7, for=10.0.0.2;proto=https"],
        None,
        None,
    ),
    (
        "10.0.0.1",
        &["for=\"7.7.7.7, for=6.6.6.6;proto=https, for=10.0.0.2"],
        Some("6.6.6.6"),
        Some("https"),
    ),
    ("10.0.0.1", &[], Some("10.0.0.1"), None),
];

/// RFC 7239 section 4, from the right as with `X-Forwarded-For`.
#[test]
fn forwarded_names_the_client_where_nothing_else_does() {
    let trusted = ["10.0.0.0/8".parse().expect("a network")];
    for (peer, lines, address, scheme) in NAMED {
        let mut fields = HeaderMap::new();
        for line in *lines {
            fields.append("forwarded", bytes(line));
        }
        let client = Client {
            peer: Peer::At(peer.parse().expect("an address")),
            trusted: &trusted,
        };
        let told = client.address(&fields).map(|address| address.to_string());
        assert_eq!(told.as_deref(), *address, "{peer} {lines:?}");
        assert_eq!(client.scheme(&fields, true), *scheme, "{peer} {lines:?}");
        fields.insert("x-forwarded-for", HeaderValue::from_static("5.5.5.5"));
        fields.insert("x-forwarded-proto", HeaderValue::from_static("http"));
        if client.is_believed() {
            assert_eq!(client.address(&fields), Some(IpAddr::from([5, 5, 5, 5])));
            assert_eq!(client.scheme(&fields, true), Some("http"));
        }
    }
}

#[test]
fn parameters_are_read_as_applications_read_them() {
    let preview = [named(TextPattern::Exact("preview_id".into()), None)];
    let yes = [named(TextPattern::Exact("draft".into()), Some("^1$"))];
    for (query, is_meant, says_yes) in [
        ("preview_id=1", true, false),
        ("preview.id=1", true, false),
        ("preview%5Fid", true, false),
        ("a=1&preview+id=1", true, false),
        ("preview_id[]=1", true, false),
        ("preview%5Bid=1", true, false),
        ("%20preview_id=1", true, false),
        ("a=1;preview_id=1", true, false),
        ("preview_id%00x=1", true, false),
        ("preview.id%00x=1", true, false),
        ("%u0070review_id=1", true, false),
        ("a=1;%U0070review%u002eid=1", true, false),
        ("%u0070review%5Fid[]", true, false),
        ("a%u0026preview_id=1", false, false),
        ("preview_id%u003d1", false, false),
        ("dr%u0061ft=%u0031", false, true),
        ("previewid=1", false, false),
        ("a=preview_id", false, false),
        ("draft=1", false, true),
        ("draft=%31", false, true),
        ("a;draft=1;b", false, true),
        ("draft=2", false, false),
        ("", false, false),
    ] {
        let found = any_parameter_matches(&preview, Some(query));
        assert_eq!(found, is_meant, "{query}");
        let found = any_parameter_matches(&yes, Some(query));
        assert_eq!(found, says_yes, "{query}");
        assert!(!any_parameter_matches(&[], Some(query)));
    }
    assert!(!any_parameter_matches(&preview, None));
}
