//! The site's say: what a configuration asks for, route by route.

use crate::common::{Said, browsers_keep, counted, start_with};
use testkit::{Larder, Origin, Reply};

/// One origin that counts its answers and gives them these fields, and a configuration after the origin's table.
pub(crate) fn site(
    fields: &'static [(&'static str, &'static str)],
    config: &str,
) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{config}"));
    origin.otherwise(move |request| crate::common::with(counted(request), fields));
    (origin, larder)
}

/// Whether asking a second time, with these fields, is answered from the store.
pub(crate) fn hit(larder: &Larder, target: &str, fields: &[(&str, &str)]) -> bool {
    let ask = || {
        fields
            .iter()
            .fold(larder.get(target), |ask, (name, value)| {
                ask.header(name, value)
            })
            .send()
    };
    ask();
    ask().hit()
}

const NOTHING: &[(&str, &str)] = &[];

#[test]
fn the_first_route_that_matches_wins() {
    let cached = "ttl = \"60s\"";
    for (matcher, matching, others) in [
        (
            "host = \"a.test\"",
            &[("/", "Host: a.test"), ("/x", "Host: A.TEST")][..],
            &[("/", "Host: b.a.test"), ("/", "")][..],
        ),
        (
            "host = \"*.a.test\"",
            &[("/", "Host: b.a.test"), ("/", "Host: c.b.a.test")],
            &[("/", "Host: a.test"), ("/", "Host: ba.test")],
        ),
        (
            "path = \"/exact\"",
            &[("/exact", ""), ("/exact?q", "")],
            &[("/exact/", ""), ("/exac", ""), ("/Exact", "")],
        ),
        (
            "path = \"/api/*\"",
            &[("/api/", ""), ("/api/a/b", "")],
            &[("/apis", ""), ("/x/api/", "")],
        ),
        (
            "path = \"/a/*/c\"",
            &[("/a/b/c", "")],
            &[("/a/b/b/c", ""), ("/a/b/c/d", "")],
        ),
        (
            "path = \"/a/**/c\"",
            &[("/a/b/c", ""), ("/a/b/b/c", "")],
            &[("/a/b/c/d", "")],
        ),
        (
            "path = '~ /[0-9]+'",
            &[("/123", "")],
            &[("/123a", ""), ("/a/123", "")],
        ),
        (
            "path = [\"/é/*\", \"/a b\"]",
            &[
                ("/%C3%A9/1", ""),
                ("/%c3%a9/2", ""),
                ("/é/3", ""),
                ("/a%20b", ""),
            ],
            &[("/e/1", ""), ("/ab", "")],
        ),
        (
            "path = [\"/one\", \"/two\"]",
            &[("/one", ""), ("/two", "")],
            &[("/three", "")],
        ),
        (
            "header = \"X-Kind\"",
            &[("/", "X-Kind: any")],
            &[("/", ""), ("/", "X-Kin: any")],
        ),
        (
            "header = \"X-Kind: api\"",
            &[("/", "X-Kind: api")],
            &[("/", "X-Kind: apis"), ("/", "")],
        ),
        (
            "header = \"X-Kind: ~ ^a.i$\"",
            &[("/", "X-Kind: api")],
            &[("/", "X-Kind: apis")],
        ),
        (
            "header = \"Accept: *json*\"",
            &[("/", "Accept: application/JSON")],
            &[("/", "Accept: text/html")],
        ),
        (
            "cookie = \"lang\"",
            &[("/", "Cookie: a=b; lang=de")],
            &[("/", "Cookie: language=de"), ("/", "")],
        ),
        (
            "cookie = \"lang=de\"",
            &[("/", "Cookie: lang=de")],
            &[("/", "Cookie: lang=en")],
        ),
        (
            "query = \"page\"",
            &[("/?page=1", ""), ("/?a&page", "")],
            &[("/?pages=1", ""), ("/", "")],
        ),
        ("client = \"127.0.0.0/8\"", &[("/", "")], &[]),
        ("method = [\"GET\", \"HEAD\"]", &[("/", "")], &[]),
        ("method = \"GET\"", &[("/", "")], &[]),
        ("method = \"HEAD\"", &[], &[("/", "")]),
        (
            "client = \"10.0.0.0/8\"",
            &[],
            &[("/", ""), ("/", "X-Forwarded-For: 10.0.0.1")],
        ),
        (
            "path = \"/a/*\"\nhost = \"a.test\"",
            &[("/a/", "Host: a.test")],
            &[("/a/", ""), ("/", "Host: a.test")],
        ),
    ] {
        for (expected, asks) in [(true, matching), (false, others)] {
            let (_origin, larder) = site(NOTHING, &format!("[[route]]\n{matcher}\n{cached}\n"));
            for (target, field) in asks {
                let fields: Vec<_> = field.split_once(": ").into_iter().collect();
                assert_eq!(
                    hit(&larder, target, &fields),
                    expected,
                    "{matcher}: {target} {field}"
                );
            }
        }
    }
}

#[test]
fn a_lifetime_by_status_is_for_answers_without_their_own() {
    let config = "[defaults]\nttl = { \"200\" = \"60s\", \"404\" = \"60s\", \"5xx\" = \"0s\", any = \"60s\" }\n";
    for (status, fields, expected) in [
        (200, NOTHING, true),
        (404, NOTHING, true),
        (403, NOTHING, false),
        (302, NOTHING, true),
        (500, NOTHING, false),
        (503, NOTHING, false),
        (200, &[("Cache-Control", "no-store")], false),
        (200, &[("Cache-Control", "private")], false),
        (200, &[("Cache-Control", "max-age=0")], false),
        (500, &[("Cache-Control", "max-age=60")], true),
        (200, &[("Set-Cookie", "a=b")], false),
    ] {
        let (origin, larder) = site(NOTHING, config);
        origin.on("/", move |_| {
            crate::common::with(Reply::status(status).body("x"), fields)
        });
        assert_eq!(hit(&larder, "/", &[]), expected, "{status} {fields:?}");
    }
}

#[test]
fn one_duration_is_microcaching() {
    let (origin, larder) = site(NOTHING, "[defaults]\nttl = \"60s\"\n");
    for (status, expected) in [
        (200, true),
        (301, true),
        (302, true),
        (404, false),
        (500, false),
    ] {
        let path = format!("/{status}");
        origin.reply(&path, Reply::status(status).body("x"));
        assert_eq!(hit(&larder, &path, &[]), expected, "{status}");
    }
}

#[test]
fn a_lifetime_may_override_the_origin() {
    for (mode, path, fields, expected) in [
        ("override", "/", &[("Cache-Control", "no-store")][..], true),
        ("override", "/", &[("Cache-Control", "private")], true),
        ("override", "/", &[("Cache-Control", "max-age=0")], true),
        ("override", "/", &[("Expires", "{-100}")], true),
        (
            "static",
            "/style.css",
            &[("Cache-Control", "no-store"), ("Content-Type", "text/css")],
            true,
        ),
        ("static", "/page", &[("Cache-Control", "no-store")], false),
        ("static", "/page", &[], true),
        (
            "default",
            "/style.css",
            &[("Cache-Control", "no-store")],
            false,
        ),
    ] {
        let (origin, larder) = site(
            NOTHING,
            &format!("[defaults]\nttl = \"60s\"\nttl_mode = \"{mode}\"\n"),
        );
        let fields = fields.to_vec();
        origin.on(path, move |request| {
            crate::common::with(counted(request), &fields)
        });
        assert_eq!(
            hit(&larder, path, &[]),
            expected,
            "{mode} {path}: {:?}",
            origin.last(path).head
        );
    }
}

const STALE: &[(&str, &str)] = &[("Cache-Control", "max-age=60"), ("Age", "70")];

const FORBIDDEN: &[(&str, &str)] = &[
    ("Cache-Control", "max-age=60, must-revalidate"),
    ("Age", "70"),
];

#[test]
fn windows_for_stale_are_the_sites_where_the_origin_names_none() {
    let (origin, larder) = site(STALE, "[defaults.stale]\nwhile_revalidate = \"60s\"\n");
    larder.get("/").send();
    let answer = larder.get("/").send();
    assert!(answer.hit() && answer.text() == "1", "{}", answer.said());
    drop(origin);

    let (origin, larder) = site(STALE, "[defaults.stale]\nif_error = \"60s\"\n");
    larder.get("/").send();
    origin.reply("/", Reply::status(503));
    assert_eq!(larder.get("/").send().text(), "1");

    let (origin, larder) = site(STALE, "[defaults.stale]\nunreachable = \"0s\"\n");
    larder.get("/").send();
    origin.stop();
    assert!(larder.get("/").send().status >= 502, "the window is closed");

    let (_origin, larder) = site(FORBIDDEN, "[defaults.stale]\nwhile_revalidate = \"60s\"\n");
    larder.get("/").send();
    assert!(
        !larder.get("/").send().hit(),
        "9111 section 4.2.4: MUST NOT"
    );
}

#[test]
fn a_window_for_stale_gives_no_lifetime() {
    let (_origin, larder) = site(
        NOTHING,
        "[defaults.stale]\nwhile_revalidate = \"60s\"\nif_error = \"60s\"\n",
    );
    assert!(
        !hit(&larder, "/", &[]),
        "an answer that says nothing of caching is one user's, whatever the window"
    );
}

#[test]
fn the_browser_may_be_told_another_lifetime() {
    let (origin, larder) = site(
        &[("Cache-Control", "max-age=60"), ("Expires", "{60}")],
        "[defaults]\nbrowser_ttl = \"5s\"\n",
    );
    for expected in [false, true] {
        let answer = larder.get("/").send();
        assert_eq!(answer.hit(), expected);
        assert!(browsers_keep(&answer, 5), "{:?}", answer.head);
        assert_eq!(answer.header("expires"), None);
    }
    origin.reply("/private", Reply::ok().cache("no-store").body("x"));
    let private = larder.get("/private").send();
    assert!(
        private.joined("cache-control").contains("no-store"),
        "what forbids storing is not loosened: {:?}",
        private.head
    );
}

/// The application decides each time whose page it is. Browsers may keep it, other caches may not.
#[test]
fn what_must_be_asked_about_is_private_further_on() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbrowser_ttl = \"5s\"\nlargest_body = \"1KiB\"\n\
         [[route]]\npath = \"/forced\"\nttl = \"1m\"\nttl_mode = \"override\"\n[[route]]\n",
    );
    for (path, said, is_private) in [
        ("/tag", None, true),
        ("/no-cache", Some("no-cache"), true),
        ("/zero", Some("max-age=0, must-revalidate"), true),
        ("/public", Some("public, max-age=0"), false),
        ("/shared", Some("s-maxage=0"), false),
        ("/fresh", Some("max-age=60"), false),
        ("/forced", Some("no-cache"), false),
    ] {
        for body in [10, 2000] {
            origin.on(path, move |request| {
                let reply = if request.header("if-none-match").is_some() {
                    Reply::status(304)
                } else {
                    Reply::ok().body(vec![b'x'; body])
                };
                let reply = reply.header("ETag", format!("\"{body}\""));
                said.into_iter().fold(reply, Reply::cache)
            });
            for _ in 0..2 {
                let answer = larder.get(&format!("{path}?{body}")).send();
                let told = answer.joined("cache-control");
                assert!(told.contains("max-age="), "{path} {body}: {told}");
                assert_eq!(
                    told.contains("private"),
                    is_private,
                    "{path} {body}: {told}"
                );
            }
        }
    }
}

/// The first answer brings what is for its client alone. A cache on its way must hear so; later answers have nothing of
/// it.
#[test]
fn what_is_for_one_client_alone_keeps_the_word_that_says_so() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nbrowser_ttl = \"5s\"\n");
    let said = "max-age=60, private=\"x-user\"";
    let reply = Reply::ok().cache(said).header("X-User", "alice");
    origin.reply("/", reply.body("everybody's"));
    let first = larder.get("/").send();
    assert_eq!(first.header("x-user"), Some("alice"));
    assert_eq!(first.joined("cache-control"), said);
    let second = larder.get("/").send();
    assert!(second.hit(), "{}", second.said());
    assert_eq!(second.header("x-user"), None);
    assert!(browsers_keep(&second, 5), "{:?}", second.head);
    // Beside a word for the whole answer too.
    let both = "max-age=60, no-cache, no-cache=\"x-user\"";
    let reply = Reply::ok().cache(both).header("X-User", "alice");
    origin.reply("/both", reply.header("ETag", "\"a\""));
    let own = larder.get("/both").send();
    assert_eq!(own.header("x-user"), Some("alice"));
    assert_eq!(own.joined("cache-control"), both, "{}", own.said());
    // A field for us alone lets us keep all of it; for others it stays what it is.
    let reply = Reply::ok().cache(said).header("X-User", "alice");
    let reply = reply.header("CDN-Cache-Control", "max-age=60");
    origin.reply("/targeted", reply.body("everybody's"));
    for expected in [false, true] {
        let answer = larder.get("/targeted").send();
        assert_eq!(answer.hit(), expected, "{}", answer.said());
        assert_eq!(answer.header("x-user"), Some("alice"));
        assert_eq!(answer.joined("cache-control"), said);
    }
}

/// Everybody gets what is stored, whatever its status.
#[test]
fn the_browser_is_told_it_of_all_that_is_stored() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbrowser_ttl = \"5s\"\nredirect_https = false\n\
         [[route]]\npath = \"/https\"\nredirect_https = true\n[[route]]\n",
    );
    origin.otherwise(|request| {
        let status = request
            .path()
            .trim_start_matches('/')
            .parse()
            .expect("a status");
        let reply = Reply::status(status)
            .cache("max-age=60")
            .header("Expires", testkit::date(60));
        reply.header("Location", "/200").body("x")
    });
    for status in [200, 301, 302, 404, 410] {
        for expected in [false, true] {
            let answer = larder.get(&format!("/{status}")).send();
            assert_eq!((answer.status, answer.hit()), (status, expected));
            assert!(browsers_keep(&answer, 5), "{status}: {:?}", answer.head);
            assert_eq!(answer.header("expires"), None, "{status}");
        }
    }
    let sent = larder.get("/https").send();
    assert_eq!(
        (sent.status, sent.header("cache-control")),
        (301, None),
        "it is stored nowhere"
    );
}

/// A name that changes with its content may be kept for a year, and its error must not be.
#[test]
fn the_browser_keeps_no_error_longer_than_it_is_stored() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbrowser_ttl = \"365d\"\n\
         ttl = { \"403\" = \"30s\" }\n[[route]]\npath = \"/zero/*\"\nbrowser_ttl = \"0s\"\n",
    );
    origin.otherwise(|request| {
        let status = request.path().rsplit('/').next();
        let status = status.and_then(|status| status.parse().ok());
        let reply = Reply::status(status.expect("a status")).body("x");
        match request.header("x-said") {
            Some(said) => reply.cache(said),
            None => reply,
        }
    });
    let told = |path: &str, said: Option<&str>| {
        let ask = larder.get(path);
        let ask = match said {
            Some(said) => ask.header("X-Said", said),
            None => ask,
        };
        let answer = ask.send();
        let told = answer.joined("cache-control");
        (answer.hit(), answer.left_to_browsers(), told)
    };
    let year = 365 * 24 * 60 * 60;
    for (path, said, most) in [
        ("/200", Some("max-age=60"), year),
        ("/301", Some("max-age=60"), year),
        ("/404", Some("max-age=60"), 60),
        ("/410", Some("max-age=60"), 60),
        ("/503", Some("max-age=60"), 60),
        ("/403", None, 30),
        ("/zero/404", Some("max-age=60"), 0),
    ] {
        for expected in [false, true] {
            let (hit, left, told) = told(path, said);
            assert_eq!(hit, expected, "{path}");
            let left = left.unwrap_or_else(|| panic!("{path}: {told}"));
            if most == 60 || most == 30 {
                assert!(*left.start() <= most, "{path}: {told}");
            } else {
                assert!(left.contains(&most), "{path}: {told}");
            }
        }
    }
    let (_, _, unstored) = told("/500", None);
    assert_eq!(unstored, "", "of what is not stored nothing is said");
    let (_, _, forbidden) = told("/451", Some("no-store"));
    assert_eq!(forbidden, "no-store");
}

/// Sent to nowhere, a browser asks again and again.
#[test]
fn a_request_that_names_no_host_is_not_sent_to_https() {
    let (_origin, larder) = site(NOTHING, "[defaults]\nredirect_https = true\n");
    let mut client = larder.client();
    client.send("GET /x HTTP/1.0\r\n\r\n");
    let answer = client.read();
    assert_eq!((answer.status, answer.header("location")), (400, None));
    assert!(
        answer.said().contains("detail=host-missing"),
        "{}",
        answer.said()
    );
}

#[test]
fn what_passes_the_store_by_keeps_what_its_application_says_of_its_lifetime() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbrowser_ttl = \"5m\"\nbypass = { cookies = \"session\" }\n\
         [[route]]\npath = \"/admin\"\ncache = false\n[[route]]\n",
    );
    origin.otherwise(|_| Reply::ok().cache("private, no-store").body("yours"));
    let asks = [
        larder.get("/").header("Cookie", "session=1"),
        larder.get("/admin"),
        larder.ask("POST", "/"),
    ];
    for ask in asks {
        let said = ask.send().joined("cache-control");
        assert_eq!(said, "private, no-store", "9111 section 5.2.2");
    }
}

#[test]
fn bodies_beyond_the_largest_pass_through() {
    let (origin, larder) = site(NOTHING, "[defaults]\nlargest_body = \"1KiB\"\n");
    let reply = || Reply::ok().cache("max-age=60");
    origin.reply("/known", reply().body([b'x'; 2000]));
    origin.reply(
        "/unknown",
        reply().chunked().body([b'x'; 1000]).body([b'x'; 1000]),
    );
    origin.reply("/small", reply().chunked().body([b'x'; 1000]));
    for (path, expected) in [("/known", false), ("/unknown", false), ("/small", true)] {
        assert_eq!(hit(&larder, path, &[]), expected, "{path}");
        assert!(larder.get(path).send().complete);
    }
}

#[test]
fn set_cookie_may_be_stripped_or_stored() {
    for (mode, first, second) in [
        ("strip", None, None),
        ("store", Some("id=1"), Some("id=1")),
        ("refuse", Some("id=1"), Some("id=1")),
    ] {
        let fields = &[("Cache-Control", "max-age=60"), ("Set-Cookie", "id=1")];
        let (_origin, larder) = site(fields, &format!("[defaults]\nset_cookie = \"{mode}\"\n"));
        let (miss, again) = (larder.get("/").send(), larder.get("/").send());
        assert_eq!(
            (miss.header("set-cookie"), again.header("set-cookie")),
            (first, second),
            "{mode}"
        );
        assert_eq!(again.hit(), mode != "refuse", "{mode}");
    }
}

#[test]
fn clients_may_be_kept_from_forcing_a_fetch() {
    let (_origin, larder) = site(
        &[("Cache-Control", "max-age=60"), ("Age", "30")],
        // Who may purge may force a fetch all the same.
        "[purge]\nallow = \"192.0.2.0/24\"\n[defaults]\nclient_may_force = false\n",
    );
    larder.get("/").send();
    for (name, value) in [
        ("Cache-Control", "no-cache"),
        ("Cache-Control", "max-age=0"),
        ("Pragma", "no-cache"),
        ("Cache-Control", "min-fresh=100"),
    ] {
        assert!(
            larder.get("/").header(name, value).send().hit(),
            "{name}: {value}"
        );
    }
}

/// A client on the machine itself, as all are here, may purge where nothing is said.
#[test]
fn who_may_purge_forces_a_fetch_all_the_same() {
    let (origin, larder) = site(
        &[("Cache-Control", "max-age=60")],
        "[defaults]\nclient_may_force = false\n",
    );
    larder.get("/").send();
    let ask = |forwarded: bool| {
        let request = larder.get("/").header("Cache-Control", "no-cache");
        if forwarded {
            request.header("X-Forwarded-For", "192.0.2.9").send()
        } else {
            request.send()
        }
    };
    assert!(ask(true).hit(), "it asks for somebody else");
    assert!(!ask(false).hit());
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn a_request_waits_for_another_only_so_long() {
    let (origin, larder) = site(NOTHING, "[defaults]\ncollapse_wait = \"50ms\"\n");
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let reply = counted(request).cache("max-age=60");
        if request.nth == 1 {
            reply.hold_head(&held)
        } else {
            reply
        }
    });
    let mut leader = larder.get("/").begin();
    gate.wait_reached();
    let follower = larder.get("/").send();
    assert_eq!(
        follower.text(),
        "2",
        "the leader is slow; the follower went on its own"
    );
    gate.open();
    assert_eq!(leader.read().text(), "1");
}

#[test]
fn plain_requests_may_be_sent_to_https() {
    let (origin, larder) = site(NOTHING, "[defaults]\nredirect_https = true\n");
    let answer = larder.get("/a?b=c").header("Host", "shop.test").send();
    assert!(matches!(answer.status, 301 | 308), "{}", answer.status);
    assert_eq!(answer.header("location"), Some("https://shop.test/a?b=c"));
    assert!(origin.all().is_empty());
}

/// RFC 6797 section 7.2: what says to come by HTTPS only is said by HTTPS only.
#[test]
fn a_redirect_to_https_does_not_say_to_come_by_it_only() {
    let (_origin, larder) = site(
        NOTHING,
        "[defaults]\nredirect_https = true\nresponse_headers.set = [\"Strict-Transport-Security: max-age=60\", \"X-Own: 1\"]\n",
    );
    let answer = larder.get("/a").send();
    assert_eq!(answer.status, 301);
    assert_eq!(answer.header("strict-transport-security"), None);
    assert_eq!(answer.header("x-own"), Some("1"), "all else is");
}

/// Whatever is asked for, and however.
#[test]
fn every_plain_request_is_sent_to_https_or_refused() {
    let (origin, larder) = site(NOTHING, "[defaults]\nredirect_https = true\n");
    for (head, status, location) in [
        ("HEAD /a HTTP/1.1", 301, Some("https://a.test/a")),
        ("PUT /a HTTP/1.1", 308, Some("https://a.test/a")),
        ("OPTIONS * HTTP/1.1", 308, Some("https://a.test/")),
        (
            "GET /ws HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket",
            301,
            Some("https://a.test/ws"),
        ),
        ("CONNECT a.test:443 HTTP/1.1", 405, None),
    ] {
        let mut client = larder.client();
        client.send(format!("{head}\r\nHost: a.test\r\n\r\n"));
        let answer = client.read_head();
        let told = (answer.status, answer.header("location"));
        assert_eq!(told, (status, location), "{head}");
    }
    assert!(origin.all().is_empty());
}

#[test]
fn a_redirect_to_https_keeps_what_is_not_keyed() {
    let (_origin, larder) = site(
        NOTHING,
        "[defaults]\nredirect_https = true\nkey = { query = \"page\", drop_tracking = true }\n",
    );
    let target = "/pay?token=a%2fb&utm_source=c&page=2";
    let answer = larder
        .ask("POST", target)
        .header("Host", "shop.test")
        .send();
    let location = format!("https://shop.test{target}");
    assert_eq!(
        (answer.status, answer.header("location")),
        (308, Some(&*location))
    );
}

#[test]
fn answers_say_more_when_asked_to() {
    let (origin, larder) = start_with(
        "name = \"edge\"\n[report]\nkey = true\nx_cache = \"X-Cache-Status\"\nnode = \"edge-1\"\n[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"60s\"\n",
    );
    origin.otherwise(counted);
    let (miss, hit) = (larder.get("/page?a").send(), larder.get("/page?a").send());
    assert_eq!(
        (miss.header("x-cache-status"), hit.header("x-cache-status")),
        (Some("MISS"), Some("HIT"))
    );
    assert_eq!(hit.header("cache-id"), Some("edge-1"));
    let status = hit.joined("cache-status");
    assert!(
        status.starts_with("edge; hit") && status.contains("key=") && status.contains("/page?a"),
        "{status}"
    );
    assert!(hit.joined("via").contains("edge"));
}

/// Two requests share an answer if they have the same key, so the keys of two that do not are shown as two.
#[test]
fn keys_that_differ_in_any_byte_are_shown_apart() {
    let (origin, larder) = start_with(
        "report.key = true\n[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"60s\"\nkey.headers = \"X-A\"\n",
    );
    origin.otherwise(counted);
    let shown = |value: &[u8]| {
        let mut client = larder.client();
        let head = b"GET /page HTTP/1.1\r\nHost: a.test\r\nX-A: ";
        client.send([&head[..], value, b"\r\n\r\n"].concat());
        let answer = client.read();
        (answer.text(), answer.parameter("key").unwrap_or_default())
    };
    let (first, second) = (shown(b"\xe8"), shown(b"\xe9"));
    assert_ne!(first.0, second.0);
    assert!(first.1.ends_with("1:%E8"), "{}", first.1);
    assert!(second.1.ends_with("1:%E9"), "{}", second.1);
}

#[test]
fn answers_say_nothing_of_it_by_default_but_cache_status() {
    let (_origin, larder) = site(NOTHING, "");
    let answer = larder.get("/").send();
    for name in ["x-cache-status", "x-cache", "cache-id", "server"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    let (_origin, larder) = site(NOTHING, "[report]\ncache_status = false\n");
    assert_eq!(larder.get("/").send().header("cache-status"), None);
}

#[test]
fn behind_a_trusted_proxy_a_route_is_for_whom_it_speaks_for() {
    for (trusted, expected) in [("127.0.0.0/8", true), ("10.0.0.0/8", false)] {
        let (origin, larder) = start_with(&format!(
            "trusted = {trusted:?}\n[[origin]]\nservers = \"{{origin}}\"\n[[route]]\nclient = \"192.0.2.0/24\"\nttl = \"60s\"\n"
        ));
        origin.otherwise(counted);
        let named = &[("X-Forwarded-For", "6.6.6.6, 192.0.2.7")];
        assert_eq!(hit(&larder, "/a", named), expected, "{trusted}");
        let other = &[("X-Forwarded-For", "192.0.2.7, 6.6.6.6")];
        assert!(
            !hit(&larder, "/b", other),
            "what comes before is a stranger's word"
        );
        assert!(!hit(&larder, "/c", &[]), "{trusted}");
    }
}

/// Most clients percent-encode what is not ASCII; curl leaves it as it is.
#[test]
fn what_is_not_ascii_has_one_spelling() {
    let (origin, larder) = site(&[("Cache-Control", "max-age=60")], "");
    assert!(!larder.get("/é?q=ü").send().hit());
    for target in ["/é?q=ü", "/%C3%A9?q=%C3%BC", "/%c3%a9?q=%c3%bc"] {
        let answer = larder.get(target).send();
        assert!(answer.hit(), "{target}: {}", answer.said());
    }
    assert_eq!(origin.requests("/%C3%A9"), 1);
}
