use super::super::take;
use crate::{
    policy::{Matcher, PathPattern, Route},
    routing::{Client, Subject},
    sample::{key_spec, policy, route},
};
use http::{HeaderMap, Method, StatusCode};

/// Which route is taken for a path, and whether an origin may take it for another's.
fn taken(routes: &[Route], path: &str) -> (usize, bool) {
    let subject = Subject {
        host: "a.example",
        path,
        query: None,
        method: &Method::POST,
        fields: &HeaderMap::new(),
        client: Client::default(),
    };
    take(&routes.to_vec().into(), &subject)
}

fn of_paths(paths: &[PathPattern], refuses: bool) -> Route {
    let matcher = Matcher {
        paths: paths.to_vec(),
        ..Matcher::default()
    };
    let mut policy = policy(key_spec());
    policy.refuses = refuses.then_some(StatusCode::FORBIDDEN);
    route(matcher, policy)
}

fn exact(path: &str) -> PathPattern {
    PathPattern::Exact(path.to_owned())
}

#[test]
fn a_refused_script_is_refused_whatever_follows_its_name() {
    let refused = [exact("/xmlrpc.php"), PathPattern::Prefix("/admin/".into())];
    let routes = vec![
        of_paths(&[exact("/open.php"), exact("/index.php")], false),
        of_paths(&refused, true),
        of_paths(&[PathPattern::Prefix("/kept/".into())], false),
        of_paths(&[], false),
    ];
    for (path, expected) in [
        ("/xmlrpc.php", 1),
        ("/xmlrpc.php/", 1),
        ("/xmlrpc.php/x/y", 1),
        ("/xmlrpc.php%2Fx", 1),
        ("/xmlrpc%u002ephp/x", 1),
        ("/xmlrpc.ph%u0070/x", 1),
        ("/index.php/admin/x", 1),
        ("/INDEX.PHP/admin/x", 1),
        // These are other scripts.
        ("/xmlrpc.phpx/x", 3),
        ("/a/xmlrpc.php/x", 3),
        ("/other.php/admin/x", 3),
        // Nobody refuses these; and they stay in the store.
        ("/index.php/x", 3),
        ("/index.php/kept/x", 3),
        ("/open.php/x", 3),
        ("/kept/a.php/x", 2),
    ] {
        let (route, is_ambiguous) = taken(&routes, path);
        assert_eq!(route, expected, "{path}");
        let is_plain = !path.contains('%');
        assert!(!is_plain || !is_ambiguous, "{path} is stored as it was");
    }
}

/// Somebody to whom an earlier route opens the path is not refused, nor is everything where a refusal names no path.
#[test]
fn a_refusal_that_would_not_have_come_first_refuses_nothing() {
    let routes = vec![
        of_paths(&[PathPattern::Prefix("/a.php/".into())], false),
        of_paths(&[exact("/a.php")], true),
        of_paths(&[], true),
    ];
    assert_eq!(taken(&routes, "/a.php/x").0, 0);
    assert_eq!(taken(&routes[1..], "/a.php/x").0, 0);
    assert_eq!(taken(&routes[1..], "/b.php/x").0, 1);
}
