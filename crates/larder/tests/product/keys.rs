//! What the site makes of keys and of requests that bypass the store.

use super::routes::{hit, site};
use crate::{
    common::{Said, counted, raw_head, start, start_with},
    purge::purge,
    purge_clients::say,
};
use serde_json::json;
use std::net::TcpListener;
use testkit::{Command, Larder, Origin, Reply, Response};

#[test]
fn the_key_is_made_of_what_the_site_chooses() {
    for (key, same, different) in [
        (
            "query = \"none\"",
            &[("/?a=1", ""), ("/?b=2", ""), ("/", "")][..],
            &[("/a", "")][..],
        ),
        (
            "query = [\"a\", \"b*\"]",
            &[("/?a=1", ""), ("/?a=1&c=2", "")],
            &[("/?a=2", ""), ("/?a=1&b2=1", "")],
        ),
        (
            "query = [\"page[]\", \"a b\"]",
            &[("/?page[]=1&x", ""), ("/?page[]=1", "")],
            &[("/?page%5B%5D=2", ""), ("/?page[]=1&a+b=1", "")],
        ),
        (
            "query_except = \"session\"",
            &[("/?a=1", ""), ("/?a=1&session=x", "")],
            &[("/?a=2", "")],
        ),
        (
            "sort = true",
            &[("/?a=1&b=2", ""), ("/?b=2&a=1", "")],
            &[("/?a=2&b=1", "")],
        ),
        (
            "drop_tracking = true",
            &[("/?a=1", ""), ("/?utm_source=x&a=1&gclid=y&fbclid=z", "")],
            &[("/?a=2", "")],
        ),
        (
            "drop = \"s*\"",
            &[("/?a=1", ""), ("/?a=1&sid=9", "")],
            &[("/?a=2", "")],
        ),
        (
            "host = false",
            &[("/", "Host: a.test"), ("/", "Host: b.test")],
            &[("/x", "Host: a.test")],
        ),
        (
            "headers = \"X-Device\"",
            &[("/", "X-Device: tv"), ("/", "X-Device: tv")],
            &[("/", "X-Device: pc"), ("/", "")],
        ),
        // PHP takes them for the one that is keyed, and of several the first.
        (
            "cookies = \"my_cur\"",
            &[("/", "Cookie: a.b=1"), ("/", "")],
            &[
                ("/", "Cookie: my_cur"),
                ("/", "Cookie: my.cur=EUR"),
                ("/", "Cookie: my cur=EUR"),
                ("/", "Cookie: my_cur=EUR"),
                ("/", "Cookie: my_cur=USD; my.cur=EUR"),
                ("/", "Cookie: my.cur=EUR; my_cur=USD"),
            ],
        ),
        (
            "drop_cookies = true\ncookies = \"my_cur\"",
            &[("/", "Cookie: my.cur=EUR"), ("/", "")],
            &[("/", "Cookie: my_cur=EUR")],
        ),
        (
            "cookies = \"lang\"",
            &[
                ("/", "Cookie: lang=de; id=1"),
                ("/", "Cookie: id=2; lang=de"),
            ],
            &[("/", "Cookie: lang=en; id=1"), ("/", "Cookie: id=1")],
        ),
    ] {
        let (_origin, larder) = site(
            &[("Cache-Control", "max-age=60")],
            &format!("[defaults]\norigin_host = \"app.test\"\n[defaults.key]\n{key}\n"),
        );
        let ask = |(target, field): &(&str, &str)| -> Response {
            let fields: Vec<_> = field.split_once(": ").into_iter().collect();
            fields
                .iter()
                .fold(larder.get(target), |ask, (name, value)| {
                    ask.header(name, value)
                })
                .send()
        };
        assert!(!ask(&same[0]).hit());
        for asked in same {
            assert!(ask(asked).hit(), "{key}: {asked:?} is the same");
        }
        for asked in different {
            assert!(!ask(asked).hit(), "{key}: {asked:?} differs");
        }
    }
}

#[test]
fn what_is_not_keyed_is_not_sent_where_it_is_dropped() {
    let (origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[defaults.key]\ndrop_tracking = true\nquery_except = \"seen\"\n",
    );
    larder.get("/?utm_source=x&a=1&fbclid=y").send();
    assert_eq!(origin.last("/").target, "/?a=1");
}

#[test]
fn some_requests_bypass_the_store() {
    for (bypass, target, field) in [
        (
            "cookies = \"wordpress_logged_in_*\"",
            "/",
            "Cookie: a=b; wordpress_logged_in_12=x",
        ),
        ("cookies = \"session\"", "/", "Cookie: session=1"),
        ("cookies = \"wp_*\"", "/", "Cookie: a=b; wp_preview"),
        ("cookies = \"wp_*\"", "/", "Cookie: wp.preview=1"),
        ("cookies = \"wp_*\"", "/", "Cookie: wp preview=1"),
        ("cookies = \"wp_*\"", "/", "Cookie: wp[preview=1"),
        ("cookies = \"wp_*\"", "/", "Cookie: wp%5fpreview=1"),
        ("cookies = \"staff=1\"", "/", "Cookie: staff=%31"),
        ("cookies = \"~ ^(a|b)$\"", "/", "Cookie: b=1"),
        ("headers = \"Bypass-Cache: 1\"", "/", "Bypass-Cache: 1"),
        (
            "headers = \"Accept: *json*\"",
            "/",
            "Accept: application/JSON",
        ),
        (
            "headers = \"Accept-Language: de*\"",
            "/",
            "Accept-Language: DE",
        ),
        ("paths = \"/admin/*\"", "/admin/x", ""),
        ("query = \"preview\"", "/?preview=true", ""),
        ("query = \"preview=true\"", "/?a=b&preview=true", ""),
        ("query = \"preview=true\"", "/?%u0070review=tru%u0065", ""),
        ("methods = \"GET\"", "/", ""),
    ] {
        let (origin, larder) = site(
            &[("Cache-Control", "max-age=60")],
            &format!("[defaults.bypass]\n{bypass}\n"),
        );
        let fields: Vec<_> = field.split_once(": ").into_iter().collect();
        let ask = || {
            fields
                .iter()
                .fold(larder.get(target), |ask, (name, value)| {
                    ask.header(name, value)
                })
                .send()
        };
        for round in 1..3 {
            let answer = ask();
            assert_eq!(
                answer.parameter("fwd").as_deref(),
                Some("bypass"),
                "9211 section 2.2: {bypass}: {}",
                answer.said()
            );
            assert!(!answer.says("stored"), "{bypass}");
            assert_eq!(answer.text(), round.to_string());
        }
        assert!(
            bypass.starts_with("methods")
                || hit(&larder, "/other?preview=no", &[]) != bypass.ends_with("\"preview\""),
            "{bypass}: others are answered from the store"
        );
        drop(origin);
    }
}

/// Media types have no case: an application that answers one in JSON does so however it is written.
#[test]
fn what_is_accepted_bypasses_in_any_case() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"1h\"\nbypass.headers = \"Accept: *json*\"\n",
    );
    origin.otherwise(|request| {
        let accept = request.header("accept").unwrap_or_default();
        let is_json = accept.to_ascii_lowercase().contains("json");
        Reply::ok().body(if is_json { "json" } else { "html" })
    });
    for (accept, answer) in [
        ("application/JSON", "json"),
        ("text/html", "html"),
        ("Application/Json", "json"),
        ("text/html", "html"),
    ] {
        let got = larder.get("/").header("Accept", accept).send();
        assert_eq!(got.text(), answer, "{accept}: {}", got.said());
    }
    assert_eq!(origin.requests("/"), 3);
}

/// Applications read several lines each in its own way: the first alone, or all with commas between them.
#[test]
fn cookies_in_several_lines_are_keyed_as_the_application_reads_them() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"1h\"\nkey.cookies = \"currency\"\n",
    );
    origin.otherwise(|request| {
        let first = request.header("cookie").unwrap_or_default();
        let mut pairs = first.split("; ");
        let currency = pairs.find_map(|pair| pair.strip_prefix("currency="));
        Reply::ok().body(currency.unwrap_or("default"))
    });
    // A head that says more of its message is read elsewhere.
    for (path, more) in [("/a", "X-More"), ("/b", "Content-Length")] {
        let ask = |cookies: &[&str]| {
            let asked = larder.get(path).header(more, "0");
            let lines = cookies.iter();
            lines
                .fold(asked, |asked, line| asked.header("Cookie", line))
                .send()
        };
        assert_eq!(ask(&["a=1", "currency=USD"]).text(), "USD");
        let sent = origin.last(path);
        assert_eq!(sent.headers("cookie"), ["a=1; currency=USD"], "{path}");
        let one = ask(&["currency=USD"]);
        assert!(one.hit() && one.text() == "USD", "{path}: {}", one.said());
        assert_eq!(ask(&["a=1"]).text(), "default");
    }
}

/// RFC 9113 section 8.2.1: over HTTP/2, a request with white space around a value is malformed, and servers may end the
/// connection for it, with all other requests on that.
#[test]
fn what_is_made_of_cookies_has_no_white_space_at_its_ends() {
    const KEYED: &str = "key.cookies = \"currency\"\n";
    const DROPPED: &str = "key = { cookies = \"currency\", drop_cookies = true }\n";
    let rows: [(&str, &[&str], Option<&str>); 8] = [
        ("", &["a=1", ""], Some("a=1")),
        ("", &["", "a=1"], Some("a=1")),
        ("", &["", ""], None),
        ("", &["", "a=1", "b=2"], Some("a=1; b=2")),
        (KEYED, &["currency=USD;"], Some("currency=USD;")),
        (KEYED, &["x=\"; currency=USD;"], Some("currency=USD; x=\";")),
        (DROPPED, &["currency=USD ; a=1"], Some("currency=USD")),
        (DROPPED, &["currency= ;a=1"], Some("currency=")),
    ];
    for (config, lines, expected) in rows {
        let application = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = application.local_addr().expect("an address");
        let (_origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"http://{address}\"\n[defaults]\n{config}"
        ));
        let mut client = larder.client();
        let lines = lines.iter().map(|line| format!("Cookie: {line}\r\n"));
        let lines = lines.collect::<Vec<_>>().concat();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n"));
        let (mut connection, _) = application.accept().expect("a connection");
        let head = raw_head(&mut connection).expect("a head");
        let mut fields = head.split("\r\n");
        let cookie = fields.find_map(|field| field.strip_prefix("cookie: "));
        assert_eq!(cookie, expected, "{config}: {lines}");
    }
}

#[test]
fn a_request_that_bypasses_leaves_what_is_stored_alone() {
    let (_origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[defaults.bypass]\ncookies = \"session\"\n",
    );
    assert_eq!(larder.get("/").send().text(), "1");
    assert_eq!(
        larder.get("/").header("Cookie", "session=1").send().text(),
        "2"
    );
    let after = larder.get("/").send();
    assert!(after.hit() && after.text() == "1");
}

#[test]
fn a_route_may_store_nothing() {
    let (_origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[[route]]\npath = \"/live/*\"\ncache = false\n",
    );
    assert!(!hit(&larder, "/live/x", &[]));
    assert!(hit(&larder, "/page", &[]));
}

/// Fields of content do not go with a request that has none, unless the site says so: many API clients send
/// `Content-Type` with each request, and some applications want it.
#[test]
fn a_get_has_the_fields_of_content_that_the_site_names() {
    let (origin, larder) = start_with(
        r#"
[[origin]]
servers = "{origin}"
[[route]]
path = "/passed"
pass_fields = "Content-Type"
[[route]]
path = "/keyed"
key.headers = "Content-Type"
[[route]]
path = "/set"
request_headers.set = "Content-Type: a/b"
[[route]]
path = "/added"
request_headers.add = "Content-Type: a/b"
"#,
    );
    origin.otherwise(|request| {
        let media = request.headers("content-type").join(" and ");
        let reply = Reply::ok().cache("max-age=60");
        reply.header("Vary", "Content-Type").body(media)
    });
    let ask = |path: &str, media: &str| larder.get(path).header("Content-Type", media).send();
    for (path, one, other) in [
        ("/withheld", "", ""),
        ("/passed", "c/d", "e/f"),
        ("/keyed", "c/d", "e/f"),
        ("/set", "a/b", "a/b"),
        ("/added", "a/b", "a/b"),
    ] {
        assert_eq!(ask(path, "c/d").text(), one, "{path}");
        let second = ask(path, "e/f");
        assert_eq!(second.text(), other, "{path}");
        assert_eq!(second.hit(), one == other, "{path}: {}", second.said());
        let third = ask(path, "c/d");
        assert!(third.hit() && third.text() == one, "{path}");
    }
}

#[test]
fn a_passed_field_is_passed_and_a_keyed_one_is_keyed() {
    let (origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[[route]]\npath = \"/passed\"\npass_fields = \"X-Forwarded-Host\"\n[[route]]\npath = \"/keyed\"\nkey = { headers = \"X-Forwarded-Host\" }\n",
    );
    larder
        .get("/passed")
        .header("X-Forwarded-Host", "a.test")
        .send();
    assert_eq!(
        origin.last("/passed").header("x-forwarded-host"),
        Some("a.test")
    );
    assert!(
        !larder
            .get("/keyed")
            .header("X-Forwarded-Host", "a.test")
            .send()
            .hit()
    );
    assert_eq!(
        origin.last("/keyed").header("x-forwarded-host"),
        Some("a.test")
    );
    assert!(
        !larder
            .get("/keyed")
            .header("X-Forwarded-Host", "b.test")
            .send()
            .hit()
    );
    assert!(
        larder
            .get("/keyed")
            .header("X-Forwarded-Host", "a.test")
            .send()
            .hit()
    );
}

#[test]
fn a_bypass_sees_the_query_as_it_came() {
    for key in [
        "query = \"page\"",
        "query = \"none\"",
        "query_except = \"preview\"",
        "drop = \"preview\"",
    ] {
        let (_origin, larder) = site(
            &[("Cache-Control", "max-age=60")],
            &format!("[defaults]\nkey = {{ {key} }}\nbypass = {{ query = \"preview\" }}\n"),
        );
        larder.get("/").send();
        let preview = larder.get("/?preview=1").send();
        assert_eq!(
            preview.parameter("fwd").as_deref(),
            Some("bypass"),
            "{key}: {}",
            preview.said()
        );
    }
}

/// `[` and its like may be encoded or not, and a space is `+` or `%20`.
#[test]
fn a_parameter_is_matched_however_it_is_encoded() {
    let (origin, larder) = site(
        &[],
        "[defaults]\nkey.query = [\"page[]\", \"a b\"]\n[[route]]\nquery = [\"tags[]\", \"my name=x y\"]\nresponse_headers.set = \"X-Route: q\"\n",
    );
    origin.otherwise(|request| Reply::ok().cache("no-store").body(request.target.clone()));
    for (target, sent) in [
        ("/?page[]=1&x=2", "/?page[]=1"),
        ("/?page%5B%5D=1&x=2", "/?page%5B%5D=1"),
        ("/?page%5b%5d=1", "/?page%5B%5D=1"),
        ("/?a+b=1&a%20b=2&a%2Bb=3&ab=4", "/?a+b=1&a%20b=2"),
    ] {
        assert_eq!(larder.get(target).send().text(), sent, "{target}");
    }
    for (target, is_routed) in [
        ("/?tags[]=1", true),
        ("/?tags%5B%5D=1", true),
        ("/?my+name=x%20y", true),
        ("/?my%20name=x+y", true),
        ("/?my%2Bname=x+y", false),
        ("/?tags=1", false),
    ] {
        let answer = larder.get(target).send();
        assert_eq!(answer.header("x-route").is_some(), is_routed, "{target}");
    }
}

#[test]
fn a_path_is_matched_however_it_is_encoded() {
    let (_origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[[route]]\npath = \"/admin/*\"\ncache = false\n",
    );
    for target in [
        "/admin/x",
        "/%61dmin/x",
        "/admi%6E/x",
        "/admin/x?y",
        "/admin%2F..%2Fx.css",
        "/admin/x%0A",
        "/%FFadmin/x",
    ] {
        assert!(!hit(&larder, target, &[]), "{target}");
    }
}

#[test]
fn an_ipv4_client_is_matched_on_a_socket_of_both_kinds() {
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let config = format!(
        "[[origin]]\nservers = {:?}\n[[route]]\nclient = \"127.0.0.1\"\ncache = false\n",
        origin.url()
    );
    let binary = env!("CARGO_BIN_EXE_larder");
    if std::net::TcpListener::bind("[::]:0").is_err() {
        return;
    }
    let larder = Command::new(binary)
        .args(["serve", "--listen", "[::]:0", "--admin", "127.0.0.1:0"])
        .config(&config)
        .start();
    let port: u16 = larder.listeners()[0]
        .rsplit(':')
        .next()
        .expect("a port")
        .parse()
        .expect("a port");
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    for _ in 0..2 {
        let answer = testkit::Client::connect(address).get("/").send();
        assert_eq!(
            answer.parameter("fwd").as_deref(),
            Some("bypass"),
            "{}",
            answer.said()
        );
    }
}

#[test]
fn one_page_may_be_stored_for_both_schemes() {
    for (keyed, shared) in [("true", false), ("false", true)] {
        let (origin, larder) = crate::common::start_with(&format!(
            "trusted = \"127.0.0.0/8\"\n[[origin]]\nservers = \"{{origin}}\"\n[defaults.key]\nscheme = {keyed}\n"
        ));
        origin.otherwise(|request| counted(request).cache("max-age=60"));
        larder.get("/").header("X-Forwarded-Proto", "https").send();
        let plain = larder.get("/").header("X-Forwarded-Proto", "http").send();
        assert_eq!(plain.hit(), shared, "scheme = {keyed}: {}", plain.said());
    }
}

/// What stood at a place among the routes is nothing to the one that comes to stand there.
#[test]
fn what_a_route_stores_is_its_own_wherever_it_stands() {
    let (staff, public) = (Origin::start(), Origin::start());
    staff.otherwise(|_| Reply::ok().cache("max-age=60").body("staff"));
    public.otherwise(|_| Reply::ok().cache("max-age=60").body("public"));
    let directory = testkit::scratch_dir();
    let config = |routes: &str| {
        format!(
            "[disk]\npath = {directory:?}\n[[origin]]\nname = \"staff\"\nservers = \"{}\"\n\
             [[origin]]\nname = \"public\"\nservers = \"{}\"\n[defaults]\norigin = \"public\"\n{routes}",
            staff.url(),
            public.url(),
        )
    };
    let for_staff = "[[route]]\ncookie = \"staff=1\"\norigin = \"staff\"\n";
    let for_phones = "[[route]]\nheader = \"User-Agent: *Mobile*\"\n";
    let start = |routes: &str| {
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"));
        larder.config(&config(routes)).start()
    };
    let as_staff = |larder: &Larder| larder.get("/").header("Cookie", "staff=1").send();
    let by_phone = |larder: &Larder| larder.get("/").header("User-Agent", "Mobile").send();
    let larder = start(for_staff);
    for hit in [false, true] {
        let answer = as_staff(&larder);
        assert_eq!((answer.text(), answer.hit()), ("staff".into(), hit));
    }
    larder.stop();
    let larder = start(&format!("{for_phones}{for_staff}"));
    assert_eq!(by_phone(&larder).text(), "public");
    let answer = as_staff(&larder);
    assert_eq!(
        (answer.text(), answer.hit()),
        ("staff".into(), true),
        "still its own"
    );
    larder.stop();
    // One that is called the same and matches others begins anew.
    let called = |route: &str| route.replace("[[route]]", "[[route]]\nname = \"one\"");
    let larder = start(&called(for_staff));
    for hit in [false, true] {
        assert_eq!(as_staff(&larder).hit(), hit);
    }
    larder.stop();
    let larder = start(&called(for_phones));
    assert_eq!(by_phone(&larder).text(), "public");
}

/// Nor are any two kept together that are chosen by what is not keyed, whoever named them.
#[test]
fn no_two_routes_have_one_name() {
    let (a, b) = (Origin::start(), Origin::start());
    a.otherwise(|_| Reply::ok().cache("max-age=60").body("from a"));
    b.otherwise(|_| Reply::ok().cache("max-age=60").body("from b"));
    let origins = format!(
        "[[origin]]\nname = \"a\"\nservers = \"{}\"\n[[origin]]\nname = \"b\"\nservers = \"{}\"\n",
        a.url(),
        b.url()
    );
    let routes = |first: &str, second: &str| {
        format!(
            "{origins}[defaults]\norigin = \"b\"\n[[route]]\n{first}header = \"X-Kind: a\"\norigin = \"a\"\n\
             [[route]]\n{second}header = \"X-Kind: b\"\n"
        )
    };
    for (first, second, instead) in [
        ("name = \"route-2\"\n", "", "name = \"route-2-2\""),
        ("", "name = \"route-1\"\n", "name = \"route-1-2\""),
        ("name = \"x\"\n", "name = \"x\"\n", "name = \"x-2\""),
        ("name = \"default\"\n", "", "name = \"default-2\""),
        ("", "name = \"default\"\n", "name = \"default-2\""),
    ] {
        let said = crate::common::faults(&routes(first, second));
        assert!(said.contains(instead), "{first}{second}: {said}");
    }
    let apart = routes("name = \"route-2-2\"\n", "");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&apart)
        .start();
    for (kind, from) in [("a", "from a"), ("b", "from b"), ("c", "from b")] {
        for _ in 0..2 {
            let answer = larder.get("/").header("X-Kind", kind).send();
            assert_eq!(answer.text(), from, "{kind}: {}", answer.said());
        }
    }
}

/// What a URI has in its encoded form alone, and clients send as it is (RFC 3986 section 2).
#[test]
fn a_url_is_purged_in_the_words_in_which_it_is_asked_for() {
    let (origin, larder) = start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    for mark in ['<', '>', '"', '`', '\u{e9}'] {
        for target in [format!("/a{mark}b"), format!("/a?q={mark}b")] {
            let ask = |method: &str| larder.ask(method, &target).send();
            let url = format!("http://example.test{target}");
            let cloudflare = format!(
                "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nX-Auth-Key: t\n\n{}",
                json!({ "files": [url] })
            );
            let by_prefix = json!({ "prefix": target });
            let by_url = json!({ "url": url });
            let ways: [(&str, &dyn Fn() -> u16); 5] = [
                ("admin", &|| {
                    purge(&larder, &by_url);
                    200
                }),
                ("prefix", &|| {
                    purge(&larder, &by_prefix);
                    200
                }),
                ("PURGE", &|| ask("PURGE").status),
                ("REFRESH", &|| ask("REFRESH").status),
                ("Cloudflare", &|| say(&larder, &cloudflare).status),
            ];
            for (way, purge) in ways {
                let kept = ask("GET").text();
                assert!(ask("GET").hit(), "{way}: {target}");
                assert_eq!(purge(), 200, "{way}: {target}");
                assert_ne!(ask("GET").text(), kept, "{way}: {target}");
            }
            assert_eq!(ask("BAN").status, 200, "{target}");
        }
    }
}
