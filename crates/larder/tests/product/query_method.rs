//! `QUERY` (draft-ietf-httpbis-safe-method-w-body): safe, idempotent, and its content is part of the key.

use crate::common::{Said, counted, start, start_with};
use testkit::{Client, Larder, Origin, Reply, Response, wait_until};

/// A content type, the content, and more fields.
type Ask<'a> = (&'a str, &'a [u8], &'a [(&'a str, &'a str)]);

fn service() -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/search", |request| counted(request).cache("max-age=60"));
    (origin, larder)
}

fn query(larder: &Larder, media: &str, content: &[u8], fields: &[(&str, &str)]) -> Response {
    let ask = larder
        .ask("QUERY", "/search")
        .header("Content-Type", media)
        .body(content);
    let ask = fields
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value));
    ask.send()
}

#[test]
fn its_answers_are_reused_for_the_same_content() {
    let (origin, larder) = service();
    let first = query(&larder, "application/sql", b"select 1", &[]);
    assert!(first.says("stored"), "{}", first.said());
    let asked = origin.last("/search");
    assert_eq!(
        (asked.method.as_str(), asked.body.as_slice()),
        ("QUERY", &b"select 1"[..])
    );
    assert_eq!(asked.header("content-type"), Some("application/sql"));
    let second = query(&larder, "application/sql", b"select 1", &[]);
    assert!(
        second.hit() && second.text() == first.text(),
        "{}",
        second.said()
    );
    let json = |text: &str| query(&larder, "application/vnd.search+json", text.as_bytes(), &[]);
    assert!(!json(r#"{"a":1,"b":[2]}"#).hit());
    assert!(
        json("{ \"b\": [ 2 ],\n\"a\": 1 }").hit(),
        "one meaning, one answer"
    );
    assert_eq!(origin.requests("/search"), 2);
}

/// What is stored may become stale while the content comes.
#[test]
fn it_is_judged_when_its_content_has_come() {
    let (origin, larder) = start();
    origin.on("/search", |request| counted(request).cache("max-age=1"));
    let slow = |head: &str| {
        format!(
            "QUERY /search HTTP/1.1\r\nHost: example.test\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n{head}\r\n"
        )
    };
    let mut early = Client::connect(larder.address());
    early.send(slow(""));
    assert_eq!(query(&larder, "text/plain", b"q", &[]).text(), "1");
    wait_until("it is stale", || {
        let mut stored = Client::connect(larder.address());
        stored.send(slow("Cache-Control: only-if-cached\r\n") + "q");
        stored.read().status == 504
    });
    early.send("q");
    let answer = early.read();
    assert_eq!(answer.text(), "2", "{}", answer.said());
}

/// Its content is at hand, and it changes nothing.
#[test]
fn it_is_sent_again_where_a_connection_was_closing() {
    // Workers share no connections.
    let config = "workers = 1\n[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\n";
    let (origin, larder) = start_with(config);
    origin.on("/search", |request| match request.nth {
        2 => Reply::close(),
        _ => counted(request).cache("max-age=60"),
    });
    assert_eq!(query(&larder, "text/plain", b"a", &[]).text(), "1");
    let answer = query(&larder, "text/plain", b"b", &[]);
    assert_eq!((answer.status, answer.text().as_str()), (200, "3"));
    let bodies = origin.recorded("/search");
    let bodies: Vec<_> = bodies.iter().map(|asked| asked.body.as_slice()).collect();
    assert_eq!(bodies, [b"a", b"b", b"b"]);
}

#[test]
fn what_differs_in_content_or_what_is_said_of_it_shares_nothing() {
    let (_origin, larder) = service();
    let json = "application/json";
    let asks: [Ask<'_>; 16] = [
        ("text/plain", b"a", &[]),
        ("text/plain", b"a ", &[]),
        ("text/plain", b"A", &[]),
        ("text/plain", b"", &[]),
        ("text/plain; charset=utf-8", b"a", &[]),
        ("text/html", b"a", &[]),
        ("text/plain", b"a", &[("Content-Encoding", "gzip")]),
        ("text/plain", b"a", &[("Content-Language", "de")]),
        ("text/plain", b"\xff\xfe", &[]),
        (json, b"{\"a\":1}", &[]),
        (json, b"{\"a\":1.0}", &[]),
        (json, b"{\"a\":\"1\"}", &[]),
        (json, b"{\"a\":1,\"a\":1}", &[]),
        (json, b"{\"a\":1} ,", &[]),
        (json, b"{\"a\":1}", &[("Content-Encoding", "identity")]),
        ("text/plain", b"{\"a\":1}", &[]),
    ];
    for (media, content, fields) in asks {
        assert!(
            !query(&larder, media, content, fields).hit(),
            "{media} {content:?} {fields:?}"
        );
    }
    for (media, content, fields) in asks {
        assert!(
            query(&larder, media, content, fields).hit(),
            "{media} {content:?} {fields:?}"
        );
    }
    assert!(
        !larder.get("/search").send().hit(),
        "GET has another answer"
    );
    assert!(
        !larder
            .ask("POST", "/search")
            .header("Content-Type", "text/plain")
            .body("a")
            .send()
            .hit()
    );
}

#[test]
fn one_users_answer_goes_to_nobody_else() {
    let (origin, larder) = service();
    origin.on("/search", |request| {
        let who = request.header("authorization").unwrap_or("nobody");
        Reply::ok().cache("max-age=60").body(who)
    });
    for who in ["alice", "bob"] {
        let answer = query(&larder, "text/plain", b"me", &[("Authorization", who)]);
        assert_eq!(answer.text(), who);
    }
    assert_eq!(query(&larder, "text/plain", b"me", &[]).text(), "nobody");
}

#[test]
fn it_is_safe_and_what_is_unsafe_or_purged_ends_its_answers() {
    let (_origin, larder) = service();
    let ask = || query(&larder, "text/plain", b"a", &[]);
    let get = || larder.get("/search").send();
    get();
    ask();
    assert!(
        get().hit() && ask().hit(),
        "9110 section 9.2.1: a safe method invalidates nothing"
    );
    larder.ask("POST", "/search").body("x").send();
    assert!(!ask().hit(), "9111 section 4.4");
    assert!(ask().hit());
    let answer = testkit::Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(r#"{"prefix": "/sea"}"#)
        .send();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!ask().hit());
}

#[test]
fn what_cannot_be_keyed_passes() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_content = \"8KiB\"\n[limits]\nrequest_body = \"1MiB\"\n",
    );
    origin.on("/search", |request| counted(request).cache("max-age=60"));
    let long = vec![b'x'; 9000];
    for (media, content, fields, why) in [
        ("text/plain", long.as_slice(), &[][..], "content-too-large"),
        (
            "text/plain",
            b"a",
            &[("If-None-Match", "\"a\"")],
            "condition",
        ),
        (
            "text/plain",
            b"a",
            &[("If-Modified-Since", "Thu, 01 Jan 2026 00:00:00 GMT")],
            "condition",
        ),
    ] {
        for _ in 0..2 {
            let answer = query(&larder, media, content, fields);
            assert_eq!(
                answer.parameter("detail").as_deref(),
                Some(why),
                "{}",
                answer.said()
            );
            assert!(origin.last("/search").body == content);
        }
    }
    let untyped = || larder.ask("QUERY", "/search").body("a").send();
    untyped();
    assert_eq!(
        untyped().parameter("detail").as_deref(),
        Some("content-type")
    );
    let before = origin.received("/search");
    let mut client = larder.client();
    client.send("QUERY /search HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..9 {
        client.send(format!("400\r\n{}\r\n", "y".repeat(1024)));
    }
    testkit::wait_until("what is too long streams", || {
        origin.received("/search") >= before + 8 * 1024
    });
    client.send("0\r\n\r\n");
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.last("/search").body, "y".repeat(9 * 1024).as_bytes());
    let huge = vec![b'z'; 2 << 20];
    assert_eq!(query(&larder, "text/plain", &huge, &[]).status, 413);
}

/// RFC 9110 section 14.2: a range is ignored where the method defines none, so the whole answer is stored and sent.
#[test]
fn a_range_changes_nothing() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/graphql\"\n[route.graphql]\n",
    );
    let json = "application/json";
    let content = r#"{"query":"{ a }"}"#;
    for (method, path) in [
        ("QUERY", "/search"),
        ("QUERY", "/graphql"),
        ("POST", "/graphql"),
    ] {
        origin.on(path, |request| match request.header("range") {
            Some(_) => Reply::status(416),
            None => Reply::ok().cache("max-age=60").body("0123456789"),
        });
        let before = origin.requests(path);
        let ask = |fields: &[(&str, &str)]| {
            let ask = larder.ask(method, path).header("Content-Type", json);
            let ask = fields
                .iter()
                .fold(ask, |ask, (name, value)| ask.header(name, value));
            ask.body(content).send()
        };
        let range = ("Range", "bytes=0-1");
        for fields in [
            &[range][..],
            &[range, ("If-Range", "\"a\"")],
            &[("If-Range", "\"a\"")],
            &[],
        ] {
            let answer = ask(fields);
            let got = (answer.status, answer.text());
            let whole = (200, "0123456789".to_owned());
            assert_eq!(got, whole, "{method} {path}: {}", answer.said());
        }
        assert_eq!(origin.requests(path), before + 1, "{method} {path}");
    }
}

#[test]
fn a_client_that_breaks_off_leaves_nothing_behind() {
    let (origin, larder) = service();
    let mut client = larder.client();
    client.send("QUERY /search HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nabc");
    drop(client);
    let mut client = larder.client();
    client.send("QUERY /search HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
    assert_eq!(client.read().status, 400);
    assert_eq!(origin.requests("/search"), 0);
}
