//! Pages that the application keeps in memcached or Redis.

use crate::common::{Said, sample, start_with};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};
use testkit::{Larder, Memcached, Origin, Redis, Reply, Response, wait_until};

/// However busy the machine is, what is answered is answered in time.
pub(crate) const PATIENT: &str = "timeouts.whole = \"20s\"";

pub(crate) fn start(store: &str, more: &str) -> (Origin, Larder) {
    let config = format!(
        "[[origin]]\nname = \"pages\"\n{store}\n\
         [[origin]]\nname = \"app\"\nservers = \"{{origin}}\"\n\
         [defaults]\ntry = [\"pages\", \"app\"]\n{more}\n"
    );
    let (origin, larder) = start_with(&config);
    origin.otherwise(|request| Reply::ok().body(format!("app {}", request.nth)));
    (origin, larder)
}

pub(crate) fn of_memcached(server: &Memcached, key: &str, more: &str) -> String {
    format!(
        "memcached = \"{}\"\nkey = \"{key}\"\n{PATIENT}\n{more}",
        server.address()
    )
}

pub(crate) fn of_redis(server: &Redis, key: &str, more: &str) -> String {
    let url = server.url();
    format!("redis = \"{url}\"\nkey = \"{key}\"\n{PATIENT}\n{more}")
}

/// Puts a value under a key as an application's client would.
pub(crate) fn put(server: &Memcached, key: &str, value: &[u8]) {
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    let head = format!("set {key} 0 0 {}\r\n", value.len());
    stream
        .write_all(&[head.as_bytes(), value, b"\r\n"].concat())
        .expect("sent");
    let mut answer = String::new();
    BufReader::new(&stream)
        .read_line(&mut answer)
        .expect("an answer");
    assert_eq!(answer, "STORED\r\n", "{key}");
}

fn answered(larder: &Larder, target: &str) -> String {
    let answer = larder.get(target).header("Host", "shop.example").send();
    assert_eq!(answer.status, 200, "{target}");
    answer.text()
}

pub(crate) fn outcome(larder: &Larder, outcome: &str) -> u64 {
    let name = format!("larder_page_store_answers_total{{origin=\"pages\",outcome=\"{outcome}\"}}");
    sample(larder, &name)
}

#[test]
fn pages_are_taken_from_memcached_and_the_rest_from_the_application() {
    let server = Memcached::start();
    let (origin, larder) = start(&of_memcached(&server, "$scheme:$host$uri", ""), "");
    put(&server, "http:shop.example/shoes", b"<h1>shoes</h1>");
    put(&server, "http:shop.example/list.json", b"[]");
    put(&server, "http:shop.example/a%20b", b"escaped as nginx does");
    put(&server, "http:shop.example/café", b"decoded as nginx does");
    let page = larder.get("/shoes").header("Host", "shop.example").send();
    assert_eq!((page.status, page.text().as_str()), (200, "<h1>shoes</h1>"));
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let again = larder
        .get("/shoes")
        .header("Host", "Shop.Example:80")
        .send();
    assert_eq!(again.text(), "<h1>shoes</h1>");
    let json = larder
        .get("/list.json")
        .header("Host", "shop.example")
        .send();
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(answered(&larder, "/a%20b"), "escaped as nginx does");
    assert_eq!(answered(&larder, "/caf%C3%A9"), "decoded as nginx does");
    for target in ["/other", "/shoes?size=9", "/caf%C3%A8", "/a%0Ab", "/%ff"] {
        assert!(answered(&larder, target).starts_with("app"), "{target}");
    }
    let long = format!("/{}", "x".repeat(250));
    assert_eq!(answered(&larder, &long), "app 1");
    assert_eq!(origin.requests("/shoes"), 1, "only with a query");
    let posted = larder
        .ask("POST", "/shoes")
        .header("Host", "shop.example")
        .send();
    assert_eq!(posted.text(), "app 2");
}

/// Two hosts, two users: nobody gets a page that is not his.
#[test]
fn pages_of_two_hosts_and_two_users_are_kept_apart() {
    let server = Memcached::start();
    put(&server, "a.example/", b"page of a");
    put(&server, "b.example/", b"page of b");
    let store = of_memcached(&server, "$host$uri", "");
    let (_origin, larder) = start(&store, "bypass.cookies = \"session\"");
    for _ in 0..2 {
        for (host, page) in [("a.example", "page of a"), ("b.example", "page of b")] {
            assert_eq!(larder.get("/").header("Host", host).send().text(), page);
            assert_eq!(
                larder
                    .get("/")
                    .header("Host", format!("{host}:8080"))
                    .send()
                    .text(),
                page
            );
        }
        let other = larder.get("/").header("Host", "c.example").send();
        assert!(other.text().starts_with("app"));
        for secret in [("Cookie", "session=1"), ("Authorization", "Bearer 1")] {
            let ask = larder.get("/new").header("Host", "a.example");
            assert!(
                ask.header(secret.0, secret.1)
                    .send()
                    .text()
                    .starts_with("app")
            );
        }
    }
    let own = larder
        .get("/")
        .header("Host", "a.example")
        .header("Cookie", "session=1")
        .send();
    assert!(
        own.text().starts_with("app"),
        "the page of everybody is not that of who is logged in"
    );
}

#[test]
fn a_page_is_asked_for_again_after_a_second_and_confirmed() {
    let server = Memcached::start();
    let (_origin, larder) = start(&of_memcached(&server, "$uri", ""), "");
    put(&server, "/", b"one");
    assert_eq!(answered(&larder, "/"), "one");
    let again = larder
        .get("/")
        .header("Host", "shop.example")
        .header("Cache-Control", "no-cache")
        .send();
    assert_eq!(
        again.parameter("fwd-status").as_deref(),
        Some("304"),
        "{}",
        again.said()
    );
    put(&server, "/", b"two");
    wait_until("the new page was seen", || answered(&larder, "/") == "two");
    // Removed: the application's turn.
    server.ask("delete /");
    wait_until("the application was asked", || {
        answered(&larder, "/").starts_with("app")
    });
}

#[test]
fn connections_are_kept() {
    let server = Memcached::start();
    let (_origin, larder) = start(&of_memcached(&server, "$uri", ""), "ttl = \"0s\"");
    let count = || {
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        stream.write_all(b"stats\r\nquit\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("statistics");
        let value = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
            line.and_then(|line| line.parse::<u64>().ok())
                .expect("a figure")
        };
        (value("total_connections"), value("cmd_get"))
    };
    put(&server, "/", b"page");
    answered(&larder, "/");
    let before = count();
    for _ in 0..50 {
        answered(&larder, "/");
    }
    let after = count();
    assert!(after.1 - before.1 >= 50, "{before:?} {after:?}");
    // Our own question, and at most one for each other worker.
    assert!(after.0 - before.0 < 20, "{before:?} {after:?}");
}

#[test]
fn connections_to_redis_are_kept() {
    let server = Redis::start();
    server.ask(&["SET", "/", "page"]);
    let (_origin, larder) = start(&of_redis(&server, "$uri", ""), "ttl = \"0s\"");
    let count = || {
        let text = server.ask(&["INFO", "stats"]);
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.strip_prefix(':')?.trim().parse::<u64>().ok())
                .expect("a figure")
        };
        (value("total_connections_received"), value("keyspace_hits"))
    };
    let ask = || {
        let answer = larder.get("/").header("Cache-Control", "no-cache").send();
        assert_eq!(answer.text(), "page");
    };
    ask();
    let before = count();
    for _ in 0..50 {
        ask();
    }
    let after = count();
    assert!(after.1 - before.1 >= 50, "{before:?} {after:?}");
    // Our own question, and at most one for each other worker.
    assert!(after.0 - before.0 < 20, "{before:?} {after:?}");
}

#[test]
fn pages_are_of_the_type_that_the_site_says() {
    let server = Memcached::start();
    put(&server, "/api", b"[]");
    put(&server, "/page.html", b"{}");
    let json = "content_type = \"application/json\"";
    let (_origin, larder) = start(&of_memcached(&server, "$uri", json), "");
    for path in ["/api", "/page.html"] {
        let answer = larder.get(path).send();
        let media = answer.header("content-type");
        assert_eq!(media, Some("application/json"), "{path}");
    }
    // A page's own word comes first.
    let headers = format!("{json}\nformat = \"headers\"");
    let (_origin, larder) = start(&of_memcached(&server, "$uri", &headers), "");
    put(&server, "/own", b"Content-Type: text/csv\n\na,b");
    put(&server, "/none", b"X-Made-By: app\n\n[]");
    for (path, media) in [("/own", "text/csv"), ("/none", "application/json")] {
        let answer = larder.get(path).send();
        assert_eq!(answer.header("content-type"), Some(media), "{path}");
    }
}

#[test]
fn a_store_that_is_down_or_hangs_is_passed_over_and_asked_again_later() {
    let mut server = Memcached::start();
    // What hangs is to be found out soon.
    let store = of_memcached(&server, "$uri", "").replace(PATIENT, "timeouts.whole = \"1s\"");
    let (_origin, larder) = start(&store, "ttl = \"0s\"");
    put(&server, "/", b"page");
    wait_until("the store answered in time", || {
        answered(&larder, "/") == "page"
    });
    server.pause();
    wait_until("the application was asked", || {
        answered(&larder, "/").starts_with("app")
    });
    server.resume();
    wait_until("the store was asked again", || {
        answered(&larder, "/") == "page"
    });
    server.kill();
    for _ in 0..10 {
        assert!(answered(&larder, "/").starts_with("app"));
    }
    assert!(outcome(&larder, "failed") > 0);
    server.restart();
    put(&server, "/", b"page");
    wait_until("the store was asked again", || {
        answered(&larder, "/") == "page"
    });
}

#[test]
fn alone_a_store_answers_404_and_502() {
    let mut server = Memcached::start();
    put(&server, "/", b"page");
    let config = format!("[[origin]]\n{}", of_memcached(&server, "$uri", ""));
    let (_unused, larder) = start_with(&config);
    assert_eq!(larder.get("/").send().text(), "page");
    assert_eq!(larder.get("/?a=b").send().text(), "page");
    assert_eq!(larder.get("/other").send().status, 404);
    assert_eq!(larder.ask("POST", "/").send().status, 405);
    assert_eq!(
        larder.ask("HEAD", "/").send().header("content-length"),
        Some("4")
    );
    server.kill();
    let failed = larder.get("/third").send();
    assert!(matches!(failed.status, 502..=504), "{}", failed.status);
}

#[test]
fn values_with_a_header_are_pages_with_fields() {
    let server = Memcached::start();
    let store = of_memcached(&server, "$uri", "format = \"headers\"");
    let (_origin, larder) = start(&store, "");
    put(&server, "/full", b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nCache-Control: max-age=60\r\n\r\ngone");
    put(
        &server,
        "/short",
        b"X-Made-By: app\nSet-Cookie: a=b\nContent-Length: 4\n\npage",
    );
    put(&server, "/coded", b"Content-Encoding: gzip\n\nwhatever");
    let full = larder.get("/full").send();
    assert_eq!((full.status, full.text().as_str()), (404, "gone"));
    assert_eq!(full.header("content-type"), Some("text/plain"));
    assert!(larder.get("/full").send().hit());
    let short = larder.get("/short").send();
    assert_eq!(
        (short.text().as_str(), short.header("x-made-by")),
        ("page", Some("app"))
    );
    assert_eq!(short.header("set-cookie"), None);
    let coded = larder
        .get("/coded")
        .header("Accept-Encoding", "gzip")
        .send();
    assert_eq!(
        (coded.text().as_str(), coded.header("vary")),
        ("whatever", Some("Accept-Encoding"))
    );
    assert_eq!(larder.get("/coded").send().text(), "app 1");
}

/// A page in a coding, as an application keeps it for longer than a test takes.
const CODED: &[u8] = b"Content-Encoding: gzip\nCache-Control: max-age=600\n\nin gzip";

fn read_by(larder: &Larder, target: &str, codings: &str) -> Response {
    let ask = larder.get(target);
    match codings {
        "" => ask.send(),
        codings => ask.header("Accept-Encoding", codings).send(),
    }
}

/// RFC 9111 section 4.1: what the application says instead is for those who do not read the coding.
#[test]
fn a_coded_page_is_for_those_who_read_it_whoever_comes_first() {
    let server = Memcached::start();
    let store = of_memcached(&server, "$uri", "format = \"headers\"");
    let (origin, larder) = start(&store, "");
    origin.otherwise(|_| Reply::ok().cache("max-age=600").body("app"));
    for (target, order) in [
        ("/plain", ["", "gzip"]),
        ("/other", ["br", "gzip"]),
        ("/refused", ["gzip;q=0", "gzip"]),
        ("/coded", ["gzip", ""]),
    ] {
        put(&server, target, CODED);
        for is_stored in [false, true] {
            for codings in order {
                let expected = if codings == "gzip" { "in gzip" } else { "app" };
                let answer = read_by(&larder, target, codings);
                assert_eq!(answer.text(), expected, "{target} {codings}");
                assert_eq!(answer.hit(), is_stored, "{target}: {}", answer.said());
                assert_eq!(answer.joined("vary"), "Accept-Encoding", "{target}");
            }
        }
        assert_eq!(origin.requests(target), 1, "{target}");
    }
    // Without a page in a coding, all read the same.
    for (codings, is_stored) in [("", false), ("gzip", true), ("br", true)] {
        let answer = read_by(&larder, "/none", codings);
        assert_eq!((answer.text().as_str(), answer.hit()), ("app", is_stored));
    }
}

/// The application answered for all until its page was in the store.
#[test]
fn an_answer_that_is_confirmed_beside_a_coded_page_is_no_longer_for_all() {
    let server = Memcached::start();
    let store = of_memcached(&server, "$uri", "format = \"headers\"");
    let (origin, larder) = start(&store, "");
    origin.otherwise(|request| {
        let reply = match request.header("if-none-match") {
            Some(_) => Reply::status(304),
            None => Reply::ok().body("app"),
        };
        reply.cache("max-age=600").header("ETag", "\"v1\"")
    });
    assert_eq!(read_by(&larder, "/", "").text(), "app");
    put(&server, "/", CODED);
    assert!(read_by(&larder, "/", "gzip").hit(), "fresh");
    let ask = larder.get("/").header("Cache-Control", "no-cache");
    let confirmed = ask.send();
    let status = confirmed.parameter("fwd-status");
    assert_eq!(status.as_deref(), Some("304"), "{}", confirmed.said());
    for (codings, expected) in [("gzip", "in gzip"), ("", "app"), ("gzip", "in gzip")] {
        let answer = read_by(&larder, "/", codings);
        assert_eq!(answer.text(), expected, "{codings}: {}", answer.said());
    }
}

/// Whether a further store answers those who do not read the coding, or nobody does.
#[test]
fn a_coded_page_is_not_hidden_by_a_further_store_or_by_a_404() {
    let server = Memcached::start();
    put(&server, "first:/", CODED);
    put(&server, "second:/", b"Cache-Control: max-age=600\n\nplain");
    let store = |name: &str| {
        let more = "format = \"headers\"";
        let store = of_memcached(&server, &format!("{name}:$uri"), more);
        format!("[[origin]]\nname = \"{name}\"\n{store}\n")
    };
    let alone = store("first");
    let both = format!(
        "{alone}{}[defaults]\ntry = [\"first\", \"second\"]\n",
        store("second")
    );
    for (config, other) in [
        (
            format!("{alone}[defaults]\nttl = {{ \"404\" = \"600s\" }}\n"),
            "Not Found\n",
        ),
        (both, "plain"),
    ] {
        let (_unused, larder) = start_with(&config);
        for (codings, expected) in [("", other), ("gzip", "in gzip"), ("", other)] {
            let answer = read_by(&larder, "/", codings);
            assert_eq!(answer.text(), expected, "{codings}: {}", answer.said());
        }
        assert!(read_by(&larder, "/", "").hit());
    }
}

#[test]
fn an_empty_value_is_no_page() {
    let (memcached, redis) = (Memcached::start(), Redis::start());
    put(&memcached, "/empty", b"");
    redis.ask(&["SET", "/empty", ""]);
    for store in [
        of_memcached(&memcached, "$uri", ""),
        of_redis(&redis, "$uri", ""),
    ] {
        let (_origin, larder) = start(&store, "");
        assert_eq!(answered(&larder, "/empty"), "app 1", "{store}");
        assert_eq!(
            (outcome(&larder, "absent"), outcome(&larder, "bad")),
            (1, 0)
        );
    }
}

#[test]
fn pages_in_redis_live_as_long_as_redis_keeps_them() {
    let server = Redis::start();
    let (origin, larder) = start(
        &of_redis(&server, "page:$host$request_uri", ""),
        "ttl = \"1h\"",
    );
    server.ask(&["SET", "page:shop.example/", "short", "PX", "600"]);
    server.ask(&[
        "SET",
        "page:shop.example/list?page=2",
        "second",
        "EX",
        "600",
    ]);
    server.ask(&["SET", "page:shop.example/ever", "for ever"]);
    assert_eq!(answered(&larder, "/list?page=2"), "second");
    assert_eq!(answered(&larder, "/ever"), "for ever");
    // Redis says how long: the route's hour does not count.
    if answered(&larder, "/") == "short" {
        wait_until("Redis had forgotten it", || {
            answered(&larder, "/").starts_with("app")
        });
    }
    server.ask(&["DEL", "page:shop.example/list?page=2"]);
    let kept = larder
        .get("/list?page=2")
        .header("Host", "shop.example")
        .send();
    assert!(kept.hit(), "{}", kept.said());
    assert_eq!(origin.requests("/list"), 0);
}

#[test]
fn a_redis_that_was_down_is_asked_again() {
    let mut server = Redis::start();
    let (_origin, larder) = start(&of_redis(&server, "$uri", ""), "");
    server.kill();
    assert_eq!(answered(&larder, "/down"), "app 1");
    server.restart();
    server.ask(&["SET", "/back", "page"]);
    wait_until("the store was asked again", || {
        larder
            .get("/back")
            .header("Cache-Control", "no-cache")
            .send()
            .text()
            == "page"
    });
}

#[test]
fn a_page_counts_until_it_is_sent() {
    let server = Redis::start();
    let page = "x".repeat(8 << 20);
    server.ask(&["SET", "/large", &page]);
    let store = of_redis(&server, "$uri", "most_concurrent = 1");
    let (_origin, larder) = start(&store, "cache = false");
    let active = || sample(&larder, "larder_origin_active{origin=\"pages\"}");
    let mut client = larder.get("/large").begin();
    let mut answer = client.read_head();
    assert_eq!(answer.status, 200);
    assert_eq!(active(), 1, "more than lies between us and the client");
    client.read_body_exactly(&mut answer, page.len());
    wait_until("nothing was under way", || active() == 0);
}
