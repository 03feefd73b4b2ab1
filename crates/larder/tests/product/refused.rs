//! Routes that refuse (`refuse`): neither the store nor the application is asked.

use crate::{
    common::{Said, faults, start_with},
    explain::explained,
    static_root::{folder, serve_with},
};
use testkit::{Larder, Origin, Reply};

/// An origin that has everything, behind routes that refuse some of it.
fn guarded(routes: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{routes}"));
    origin.otherwise(|request| Reply::ok().cache("max-age=60").body(request.target.clone()));
    (origin, larder)
}

const ADMIN: &str = "[[route]]\npath = [\"/admin\", \"/admin/*\"]\nrefuse = \"403\"\n\
    [[route]]\npath = \"/xmlrpc.php\"\nrefuse = \"404\"\n";

#[test]
fn what_a_route_refuses_reaches_nobody() {
    let (origin, larder) = guarded(ADMIN);
    for (method, path, status) in [
        ("GET", "/admin", 403),
        ("GET", "/admin/users?x=1", 403),
        ("HEAD", "/admin/users", 403),
        ("POST", "/admin/users", 403),
        ("BREW", "/admin/users", 403),
        ("GET", "/xmlrpc.php", 404),
        ("POST", "/xmlrpc.php", 404),
        // However an application may read it.
        ("GET", "//admin/users", 403),
        ("GET", "//x/admin/users", 403),
        ("GET", "/\\x/admin/users", 403),
        ("GET", "/x/../admin/users", 403),
        ("GET", "/x/..%2fadmin/users", 403),
        ("GET", "/;a/admin/users", 403),
        ("GET", "/./xmlrpc.php", 404),
        ("GET", "/%61dmin/users", 403),
        ("GET", "/%u0061dmin/users", 403),
        ("POST", "/%U0061dmi%u006E/users", 403),
        ("GET", "/%u002e/admin/users", 403),
        ("GET", "/x/%u002e%u002e/admin/users", 403),
        ("GET", "/admin%u002fusers", 403),
        ("GET", "/xmlrpc%u002ephp/x", 404),
    ] {
        let answer = larder.ask(method, path).send();
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.said());
        assert_eq!(answer.parameter("detail").as_deref(), Some("denied"));
        let parsed = answer.header("cache-control").unwrap_or_default();
        assert!(!answer.hit(), "{method} {path} {parsed}");
    }
    assert!(origin.all().is_empty());
    for path in [
        "/",
        "/administrator",
        "/x/admin/users",
        "/100%",
        "/%u00g1dmin",
    ] {
        assert_eq!(larder.get(path).send().text(), path);
    }
    // A connection goes on behind a refusal.
    let mut client = larder.client();
    assert_eq!(client.get("/admin").send().status, 403);
    assert_eq!(client.get("/").send().status, 200);
    assert!(
        explained(&larder, "http://a/admin", &[])
            .contains("by Larder itself: its route refuses it")
    );
}

/// Frameworks of Python decode a slash and leave the dots behind it, and overlook bytes at the end.
#[test]
fn what_a_route_refuses_is_refused_where_dots_are_left_and_bytes_are_overlooked() {
    let (origin, larder) = guarded(ADMIN);
    for path in [
        "/admin%2F..%2Fx.css",
        "/admin%2f../x.css",
        "/admin%2F.%2Fx",
        "/admin%0A",
        "/admin/x%0a",
        "/xmlrpc.php%0A",
        "/admin%ff",
        "/%ffadmin/x",
        "/adm%c3in/x",
    ] {
        let answer = larder.get(path).send();
        assert!(
            matches!(answer.status, 403 | 404),
            "{path}: {}",
            answer.status
        );
    }
    assert!(origin.all().is_empty());
    for path in ["/adm%C3%ADn/x", "/%2F..%2Fadmi", "/admi%0An"] {
        assert_eq!(larder.get(path).send().text(), path);
    }
}

/// Applications decode the whole path, whatever of it need not be encoded, and so do the files of a `static` origin.
#[test]
fn what_a_route_refuses_is_refused_in_each_form_that_a_path_can_have() {
    let routes = "[[route]]\npath = [\"/@admin/*\", \"/k(l)/*\", \"/a b:c\", \"/m%2Bn\"]\nrefuse = \"403\"\n";
    let (origin, larder) = guarded(routes);
    for path in [
        "/@admin/x",
        "/%40admin/x",
        "/%40admin%2Fx",
        "/y/..%2F%40admin/x",
        "/k(l)/x",
        "/k%28l)/x",
        "/k%28l%29/x",
        "/a%20b:c",
        "/a%20b%3ac",
        "/m%2Bn",
        "/m+n",
    ] {
        for method in ["GET", "POST"] {
            assert_eq!(larder.ask(method, path).send().status, 403, "{path}");
        }
    }
    assert!(origin.all().is_empty());
    for path in ["/%2540admin/x", "/%40admi", "/k%5Bl%5D/x"] {
        assert_eq!(larder.get(path).send().text(), path);
    }
    let root = folder(&[("@private/x.txt", b"secret")]);
    let refusing = "[[route]]\npath = \"/@private/*\"\nrefuse = \"403\"\n";
    let larder = serve_with(&root, refusing);
    for path in ["/@private/x.txt", "/%40private/x.txt"] {
        assert_eq!(larder.get(path).send().status, 403, "{path}");
    }
}

/// A page of one user is not kept for another because she wrote its path in another form. What need not be encoded is
/// kept as before where no route makes a difference.
#[test]
fn a_path_in_another_form_brings_nobody_the_page_of_another() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"10m\"\n\
         bypass.paths = [\"/wiki/Special:*\"]\n[[route]]\npath = \"/@me/*\"\ncache = false\n",
    );
    origin.otherwise(|request| Reply::ok().body(request.header("cookie").unwrap_or("nobody")));
    let ask = |path: &str, user: &str| larder.get(path).header("Cookie", user).send();
    for path in [
        "/wiki/Special:Preferences",
        "/wiki/Special%3APreferences",
        "/wiki/Special%3aPreferences",
        "/@me/a",
        "/%40me/a",
        "/%u0040me/a",
        "/@m%u0065/a",
        "/wiki/Special%u003aPreferences",
    ] {
        ask(path, "ann");
        let answer = ask(path, "eve");
        assert_eq!(answer.text(), "eve", "{path}: {}", answer.said());
    }
    for path in ["/%40me/a", "/@m%u0065/a"] {
        let detail = ask(path, "eve").parameter("detail");
        assert_eq!(detail.as_deref(), Some("path-ambiguous"));
    }
    for path in [
        "/wiki/Foo%28bar%29",
        "/wiki/a%2Cb%20c",
        "/x%40y.css",
        "/x%u0040y.css",
    ] {
        ask(path, "ann");
        assert!(ask(path, "ann").hit(), "{path}");
    }
}

/// Rails, Laravel, Express and WordPress look for the method there. A field that names one is withheld, but
/// a target goes out as it is.
#[test]
fn a_method_in_the_query_is_no_way_around() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"10m\"\n\
         [[route]]\nmethod = [\"DELETE\", \"PUT\"]\nrefuse = \"405\"\n\
         [[route]]\nmethod = \"POST\"\npath = \"/posts\"\ncache = false\n",
    );
    origin.otherwise(|_| Reply::ok().body("made"));
    for query in [
        "_method=DELETE",
        "a=1&_method=delete",
        "%5Fmethod=%44ELETE",
        ".method=DELETE",
        "_method=GET&_method=PUT",
        "a=1;_method=+Put",
        "_method%00=DELETE",
        "_m%u0065thod=DELET%u0045",
    ] {
        for method in ["GET", "POST"] {
            let target = format!("/item?{query}");
            assert_eq!(
                larder.ask(method, &target).send().status,
                405,
                "{method} {query}"
            );
        }
    }
    assert!(origin.all().is_empty());
    for (target, hit) in [
        ("/item?_method=GET", true),
        ("/item?_method=PATCH", true),
        ("/item?method=DELETE", true),
        ("/item?x_method=DELETE", true),
        ("/item?_method=", true),
        ("/posts?_method=POST", false),
    ] {
        larder.get(target).send();
        let answer = larder.get(target).send();
        assert_eq!(answer.status, 200, "{target}");
        assert_eq!(answer.hit(), hit, "{target}: {}", answer.said());
    }
}

/// As nginx's `allow` and `deny`: who may is said by a route before.
#[test]
fn some_clients_may_come_in() {
    let routes = |net: &str| {
        format!(
            "[[route]]\npath = \"/admin/*\"\nclient = \"{net}\"\n\
            [[route]]\npath = \"/admin/*\"\nrefuse = \"403\"\n"
        )
    };
    let (origin, larder) = guarded(&routes("127.0.0.1"));
    assert_eq!(larder.get("/admin/a").send().status, 200);
    assert!(larder.get("/admin/a").send().hit());
    // Nobody believes who he says he is.
    let (other, far) = guarded(&routes("192.0.2.0/24"));
    let ask = far.get("/admin/a").header("X-Forwarded-For", "192.0.2.7");
    assert_eq!(ask.send().status, 403);
    assert_eq!((origin.requests("/admin/a"), other.all().len()), (1, 0));
    // What one of those brings is not for the others.
    let trusting = format!("trusted = \"127.0.0.1\"\n{}", routes("192.0.2.0/24"));
    let (_origin, larder) = start_with(&trusting_first(&trusting));
    let ask = |who: &str| larder.get("/admin/a").header("X-Forwarded-For", who).send();
    assert_ne!(ask("192.0.2.7").status, 403);
    assert!(
        !ask("192.0.2.7").hit(),
        "it comes from an application that is not there"
    );
    assert_eq!(ask("198.51.100.1").status, 403);
}

/// Keys before tables.
/// RFC 9110 section 15.5.6: a 405 says what is allowed.
#[test]
fn a_refusal_of_a_method_says_which_are_allowed() {
    let reading = "[[route]]\npath = \"/a\"\nmethod = \"GET\"\n[[route]]\npath = \"/a\"\nrefuse = \"405\"\n\
        [[route]]\npath = \"/b\"\nmethod = \"POST\"\nrefuse = \"405\"\n[[route]]\npath = \"/c\"\nrefuse = \"405\"\n\
        [[route]]\npath = \"/d\"\nrefuse = \"403\"\n";
    let (origin, larder) = guarded(reading);
    for (path, status, allowed) in [
        ("/a", 405, Some("GET, HEAD")),
        ("//a", 405, Some("GET, HEAD")),
        ("/b", 405, Some("GET, HEAD, PUT, PATCH, DELETE, OPTIONS")),
        ("/c", 405, Some("")),
        ("/d", 403, None),
    ] {
        let answer = larder.ask("POST", path).send();
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("allow"), allowed, "{path}");
    }
    assert!(origin.all().is_empty());
}

/// As nginx's `limit_except GET`: who may read may ask for the head alone.
#[test]
fn a_route_for_get_takes_in_head() {
    let reading =
        "[[route]]\npath = \"/a\"\nmethod = \"GET\"\n[[route]]\npath = \"/a\"\nrefuse = \"403\"\n";
    let (origin, larder) = guarded(reading);
    assert_eq!(larder.get("/a").send().status, 200);
    let head = larder.ask("HEAD", "/a").send();
    assert_eq!(head.status, 200);
    assert!(head.hit(), "what GET has stored: {}", head.said());
    for method in ["POST", "OPTIONS", "DELETE"] {
        assert_eq!(larder.ask(method, "/a").send().status, 403, "{method}");
    }
    assert_eq!(origin.all().len(), 1);
    // The first that matches wins, for `HEAD` too.
    let head_first = "[[route]]\nmethod = \"HEAD\"\nrefuse = \"404\"\n[[route]]\nmethod = \"GET\"\nttl = \"1m\"\n";
    let (_origin, larder) = guarded(head_first);
    assert_eq!(larder.ask("HEAD", "/a").send().status, 404);
    assert_eq!(larder.get("/a").send().status, 200);
    let behind = "[[route]]\nname = \"read\"\nmethod = \"GET\"\n[[route]]\nname = \"look\"\nmethod = \"HEAD\"\n";
    let said = faults(&format!("[[origin]]\nservers = \":5001\"\n{behind}"));
    assert!(
        said.contains("the earlier route `read` matches all its requests"),
        "{said}"
    );
}

/// What is asked of the server as a whole is of all its paths, and of none but these.
#[test]
fn a_route_for_all_paths_is_for_what_has_none() {
    let (origin, larder) = guarded(
        "[[route]]\nhost = \"a\"\npath = \"/*\"\nrefuse = \"403\"\n\
         [[route]]\npath = \"/\"\nrefuse = \"404\"\n",
    );
    for (target, host, status) in [
        ("/", "a", 403),
        ("*", "a", 403),
        ("http://a", "a", 403),
        ("/", "b", 404),
        ("http://b/", "b", 404),
        ("*", "b", 200),
        ("http://b", "b", 200),
    ] {
        let mut client = larder.client();
        client.send(format!("OPTIONS {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.read().status, status, "{target} of {host}");
    }
    let sent: Vec<_> = origin.all().into_iter().map(|one| one.target).collect();
    assert_eq!(sent, ["*", "*"]);
}

fn trusting_first(config: &str) -> String {
    let (first, rest) = config.split_once('\n').expect("two lines");
    format!("{first}\n[[origin]]\nservers = \"{{origin}}\"\n{rest}")
}

/// All are refused but where a route takes it back.
#[test]
fn a_route_takes_back_what_the_defaults_refuse() {
    let routes = "[defaults]\nrefuse = \"403\"\n\
        [[route]]\npath = \"/open/*\"\nrefuse = \"off\"\n\
        [[route]]\npath = \"/*\"\n";
    let (origin, larder) = guarded(routes);
    assert_eq!(larder.get("/open/a").send().text(), "/open/a");
    assert!(larder.get("/open/a").send().hit());
    for path in ["/", "/closed", "/open/../closed", "/open/..%2fclosed"] {
        assert_eq!(larder.get(path).send().status, 403, "{path}");
    }
    assert_eq!(origin.all().len(), 1);
}

#[test]
fn a_refusing_route_needs_no_origin_and_a_status_of_its_kind() {
    let two = "[[origin]]\nname = \"a\"\nservers = \":5001\"\n[[origin]]\nname = \"b\"\nservers = \":5002\"\n\
        [defaults]\norigin = \"a\"\n";
    assert_eq!(faults(&format!("{two}{ADMIN}")), "");
    let none = two.replace("[defaults]\norigin = \"a\"\n", "");
    let last = "[[route]]\nrefuse = \"403\"\n";
    assert_eq!(faults(&format!("{none}{last}")), "");
    for (wrong, instead) in [("\"200\"", "403"), ("\"4xx\"", "403"), ("403", "\"403\"")] {
        let said = faults(&format!("{two}[[route]]\nrefuse = {wrong}\n"));
        assert!(said.contains(instead), "{wrong}: {said}");
    }
}
