use super::*;
use crate::{
    policy::{AnyPath, NamePattern, PathPattern, TextPattern},
    routing::Client,
    sample::{fields, key_spec, policy, route},
};
use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use std::cell::Cell;

fn asked<'a>(path: &'a str, method: &'a Method, fields: &'a HeaderMap) -> Subject<'a> {
    Subject {
        host: "a.example",
        path,
        query: None,
        method,
        fields,
        client: Client::default(),
    }
}

/// A route for paths with this beginning, these methods, and requests with one of these cookies.
fn limited(path: &str, methods: &[Method], cookies: &[&str]) -> Route {
    let named = |name: &&str| NamePattern {
        name: TextPattern::Exact((*name).to_owned()),
        value: None,
    };
    let matcher = Matcher {
        paths: vec![PathPattern::Prefix(path.into())],
        methods: methods.to_vec(),
        cookies: cookies.iter().map(named).collect(),
        ..Matcher::default()
    };
    route(matcher, policy(key_spec()))
}

/// Which routes are taken for `subjects`, and how often `suits` was called.
fn chosen(routes: &Routes, subjects: &[Subject<'_>]) -> (Vec<usize>, usize) {
    let count = Cell::new(0);
    let suits = judge(&subjects[0]);
    let chosen = choose_each(routes, subjects, |matcher| {
        count.set(count.get() + 1);
        suits(matcher)
    });
    (chosen, count.get())
}

#[test]
fn what_a_route_asks_of_cookies_is_looked_up_once_for_all_readings() {
    let path = "/a%2Fb;c%5Cd//e/../f";
    let paths = key::readings(path);
    assert!(paths.len() > 8, "{paths:?}");
    let names: Vec<String> = (0..50).map(|number| format!("c{number}")).collect();
    let mut routes: Vec<Route> = names
        .iter()
        .map(|name| limited("/", &[], &[name]))
        .collect();
    routes.push(limited("/a/b", &[], &[]));
    routes.push(limited("", &[], &[]));
    let routes: Routes = routes.into();
    let sent = fields(&[("cookie", "c=1; d=2")]);
    let subject = asked(path, &Method::GET, &sent);
    let subjects: Vec<_> = paths
        .iter()
        .map(|path| Subject { path, ..subject })
        .collect();
    let (taken, count) = chosen(&routes, &subjects);
    assert_eq!(count, routes.len());
    assert!(taken.contains(&50) && taken.contains(&51), "{taken:?}");

    let found = readings(&routes, &subject);
    let as_chosen = paths.into_iter().zip(taken);
    let as_chosen: Vec<_> = as_chosen
        .map(|(path, route)| Reading { path, route })
        .collect();
    assert_eq!(found, as_chosen);
    for route in [50, 51] {
        assert!(is_ambiguous(&routes, &found, route, path), "{route}");
    }
    assert_eq!(readings(&routes, &asked("/a", &Method::GET, &sent)), []);
}

/// A path of which a byte may be encoded or not is on the route that it has as it is written, and goes past the store
/// where it would have another.
#[test]
fn a_byte_that_need_not_be_encoded_leads_to_what_it_means() {
    let mut refusing = policy(key_spec());
    refusing.refuses = Some(StatusCode::FORBIDDEN);
    let mut passing = policy(key_spec());
    let passed = ["/wiki/Special:", "/own/"].map(|path| PathPattern::Prefix(path.into()));
    passing.bypass.paths = AnyPath::of(passed.to_vec());
    let routes: Routes = vec![
        route(limited("/@admin/", &[], &[]).matcher, refusing),
        limited("/a:b/", &[], &[]),
        route(Matcher::default(), passing),
    ]
    .into();
    let none = HeaderMap::new();
    for (path, expected) in [
        ("/@admin/x", (0, false)),
        ("/%40admin/x", (0, true)),
        ("/%40admin%2Fx", (0, true)),
        ("/y/..%3B/%40admin/x", (0, true)),
        ("/@adm%u0069n/x", (0, true)),
        ("/%u0040admin%u002Fx", (0, true)),
        ("/a:b/x", (1, false)),
        ("/a%3Ab/x", (2, true)),
        ("/a:b/x%28y%29%2Cz", (1, false)),
        ("/wiki/Special:x", (2, false)),
        ("/wiki/Special%3Ax", (2, true)),
        ("/wiki/Special%u003Ax", (2, true)),
        ("/wiki/Foo%28bar%29", (2, false)),
        ("/wiki/caf%u00e9", (2, false)),
        ("/wiki/a%20b%2Cc", (2, false)),
        // By the rule for its path, however it is read.
        ("/own/%28x%29", (2, false)),
    ] {
        let taken = take(&routes, &asked(path, &Method::GET, &none));
        assert_eq!(taken, expected, "{path}");
    }
}

/// Where only some applications find the cookie that a route is for, its answer is not kept for those who have it.
#[test]
fn a_cookie_in_another_reading_leads_to_its_route_and_past_the_store() {
    let mut refusing = policy(key_spec());
    refusing.refuses = Some(StatusCode::FORBIDDEN);
    let mut passing = policy(key_spec());
    passing.cache = false;
    let routes: Routes = vec![
        route(limited("/", &[], &["blocked"]).matcher, refusing),
        route(limited("/own/", &[], &["sid"]).matcher, passing),
        limited("/", &[], &["beta", "wp_beta", "dotted.beta"]),
        limited("", &[], &[]),
    ]
    .into();
    for (path, cookie, expected) in [
        ("/x", "beta=1", (2, false)),
        ("/x", "BETA=1", (2, true)),
        ("/x", "BETA=1; beta=1", (2, false)),
        ("/x", "wp_beta=1", (2, false)),
        ("/x", "wp.beta=1", (2, true)),
        ("/x", "wp beta=1", (2, true)),
        ("/x", "wp[beta=1", (2, true)),
        ("/x", "wp%5Fbeta=1", (2, true)),
        ("/x", "wp_beta[a]=1", (2, true)),
        ("/x", "beta =1", (2, true)),
        ("/x", "a=1 beta=1", (2, true)),
        ("/x", "wp.beta=1; wp_beta=1", (2, false)),
        ("/x", "dotted.beta=1", (2, false)),
        ("/x", "a=1; b=2", (3, false)),
        ("/own/x", "SID=1", (1, false)),
    ] {
        let sent = fields(&[("cookie", cookie)]);
        let taken = take(&routes, &asked(path, &Method::GET, &sent));
        assert_eq!(taken, expected, "{path} {cookie}");
    }
    let sent = fields(&[("cookie", "Blocked=1; beta=1")]);
    assert_eq!(take(&routes, &asked("/x", &Method::GET, &sent)).0, 0);
}

/// A parameter that some applications read under another name makes a difference only where a route looks at it.
#[test]
fn a_parameter_under_another_name_leads_to_what_it_may_be() {
    let by_query = |name: &str, refuses| {
        let name = TextPattern::Exact(name.to_owned());
        let matcher = Matcher {
            query: vec![NamePattern { name, value: None }],
            ..Matcher::default()
        };
        let mut policy = policy(key_spec());
        policy.refuses = refuses;
        route(matcher, policy)
    };
    let routes: Routes = vec![
        by_query("rest_route", Some(StatusCode::METHOD_NOT_ALLOWED)),
        by_query("feed", None),
        limited("", &[], &[]),
    ]
    .into();
    let none = HeaderMap::new();
    for (query, expected) in [
        ("rest_route=/1", (0, false)),
        ("rest.route=/1", (0, true)),
        ("rest+route=/1", (0, true)),
        ("rest%20route", (0, true)),
        ("a=1;rest_route=/1", (0, true)),
        ("rest_route[]=1", (0, true)),
        ("rest%u005froute=/1", (0, true)),
        ("%u0072%U0065st.route=/1", (0, true)),
        ("a=1;rest_rout%u0065=/1", (0, true)),
        ("a%u0026rest_route=/1", (2, false)),
        ("feed=rss2", (1, false)),
        // Not on the route of its other name, which may keep more.
        ("a=1;feed=rss2", (2, true)),
        ("feed&a[x]=1;2", (1, false)),
        ("q=a+b%2Fc.d;e", (2, false)),
        ("", (2, false)),
    ] {
        let mut subject = asked("/x", &Method::GET, &none);
        subject.query = Some(query);
        assert_eq!(take(&routes, &subject), expected, "{query}");
        let some = unrefused(&routes, &subject);
        assert_eq!(some.is_empty(), expected.0 == 0, "{query}");
    }
    let mut subject = asked("//x", &Method::GET, &none);
    subject.query = Some("rest.route=/1");
    assert_eq!(take(&routes, &subject), (0, true));
}

proptest! {
    #[test]
    fn each_is_on_the_route_that_it_would_have_alone(
        routes in prop::collection::vec(
            (
                prop::sample::select(vec!["", "/", "/a", "/a/", "/a/b", "/b"]),
                prop::sample::subsequence(METHODS.to_vec(), 0..3),
                prop::sample::subsequence(vec!["x", "y", "z"], 0..3),
            ),
            0..8,
        ),
        paths in prop::collection::vec("/[ab]{0,2}(/[ab]{0,2}){0,2}", 1..8),
        cookie in prop::sample::select(vec!["", "x", "y=1", "x; z"]),
    ) {
        let routes: Routes = routes
            .iter()
            .map(|(path, methods, cookies)| limited(path, methods, cookies))
            .collect();
        let sent = fields(&[("cookie", cookie)]);
        let subjects: Vec<_> = paths
            .iter()
            .zip(METHODS.iter().cycle())
            .map(|(path, method)| asked(path, method, &sent))
            .collect();
        let alone: Vec<_> = subjects.iter().map(|subject| choose(&routes, subject)).collect();
        let (together, count) = chosen(&routes, &subjects);
        prop_assert_eq!(together, alone);
        prop_assert!(count <= routes.len());
    }
}
