//! Answers to `POST` that are stored (RFC 9110 section 9.3.3), and how they are used then.

use crate::common::{Said, start, start_with};
use testkit::{Larder, Origin, Reply, Request, wait_until};

/// A `POST` brings `posted` with these fields beside its location, a `GET` what is said of it by `get`.
fn form(
    fields: &'static [(&str, &str)],
    get: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/form", move |request| {
        if request.method != "POST" {
            return get(request);
        }
        let reply = Reply::ok().header("Content-Location", "/form");
        let fields = fields.iter();
        fields.fold(reply.body("posted"), |reply, (name, value)| {
            reply.header(name, value)
        })
    });
    (origin, larder)
}

/// Sends a `POST`, and waits until what it has brought is there: it may come to its client before it is whole.
fn post(larder: &Larder) {
    let post = larder.ask("POST", "/form").header("X-Kind", "1");
    let answer = post.body("a").send();
    assert!(answer.says("stored"), "{}", answer.said());
    wait_until("it is stored", || {
        let ask = larder.get("/form").header("X-Kind", "1");
        ask.header("Cache-Control", "only-if-cached, max-stale")
            .send()
            .status
            == 200
    });
}

fn page(_: &Request) -> Reply {
    Reply::ok().cache("max-age=60").body("page")
}

/// RFC 9211 section 2.3: how long it is fresh is told, as of whatever else is stored.
#[test]
fn its_lifetime_is_told() {
    let (_origin, larder) = form(&[("Cache-Control", "max-age=60")], page);
    let post = larder.ask("POST", "/form").body("a").send();
    assert!(post.said().contains("stored"), "{}", post.said());
    let ttl = post.parameter("ttl").and_then(|ttl| ttl.parse().ok());
    assert!(
        ttl.is_some_and(|ttl| (1..=60).contains(&ttl)),
        "{}",
        post.said()
    );
}

/// RFC 9110 section 4.2.3: one location may be written in several ways.
#[test]
fn its_location_counts_however_it_is_written() {
    for (location, kept) in [
        ("http://example.test:80/form", true),
        ("HTTP://Example.TEST/form", true),
        ("//example.test/form", true),
        ("./form", true),
        ("x/../form", true),
        ("/%66orm", true),
        ("form", true),
        ("", true),
        ("http://example.test:81/form", false),
        ("https://example.test/form", false),
        ("/form?", false),
        ("/Form", false),
    ] {
        let (origin, larder) = start();
        origin.on("/form", move |_| {
            let reply = Reply::ok().cache("max-age=60");
            reply.header("Content-Location", location)
        });
        if kept {
            post(&larder);
            assert!(larder.get("/form").send().hit(), "{location:?}");
        } else {
            let answer = larder.ask("POST", "/form").body("a").send();
            assert!(!answer.says("stored"), "{location:?}");
        }
    }
}

#[test]
fn it_answers_head_parts_and_conditions() {
    let fields = &[("Cache-Control", "max-age=60"), ("ETag", "\"p\"")];
    let (origin, larder) = form(fields, page);
    post(&larder);
    let head = larder.ask("HEAD", "/form").send();
    assert_eq!((head.hit(), head.header("etag")), (true, Some("\"p\"")));
    let part = larder.get("/form").header("Range", "bytes=1-3").send();
    assert_eq!((part.status, part.text().as_str()), (206, "ost"));
    let same = larder.get("/form").header("If-None-Match", "\"p\"").send();
    assert_eq!((same.status, same.hit()), (304, true));
    assert_eq!(origin.requests("/form"), 1);
}

/// An answer to a request without the cookie that is keyed is not the answer for those who have it.
#[test]
fn it_is_for_others_only_if_the_origin_got_what_is_keyed() {
    let keyed = "cookies = \"group\"";
    let takes_away = ("Connection", "cookie");
    for (key, fields, kept) in [
        ("drop_cookies = true", &[][..], true),
        (keyed, &[("Cookie", "group=a")], true),
        (keyed, &[("Cookie", "group=a"), takes_away], false),
    ] {
        let config = format!("[[origin]]\nservers = \"{{origin}}\"\n[defaults.key]\n{key}\n");
        let (origin, larder) = start_with(&config);
        origin.on("/form", |request| {
            let reply = Reply::ok().cache("max-age=60");
            let reply = reply.header("Content-Location", "/form");
            reply.body(request.header("cookie").unwrap_or("none"))
        });
        let post = larder.ask("POST", "/form");
        let post = fields
            .iter()
            .fold(post, |post, (name, value)| post.header(name, value));
        let answer = post.body("a").send();
        assert_eq!(
            answer.says("stored"),
            kept,
            "{key} {fields:?}: {}",
            answer.said()
        );
    }
}

/// RFC 9111 section 4.1: the fields that it varies by are those of the `POST`; and its success makes all variants invalid.
#[test]
fn it_is_for_requests_like_its_own() {
    let fields = &[("Cache-Control", "max-age=60"), ("Vary", "X-Kind")];
    let (origin, larder) = form(fields, |request| {
        let kind = request.header("x-kind").unwrap_or("none");
        let reply = Reply::ok().cache("max-age=60").header("Vary", "X-Kind");
        reply.body(kind)
    });
    let get = |kind: &str| larder.get("/form").header("X-Kind", kind).send();
    for kind in ["1", "2"] {
        get(kind);
    }
    post(&larder);
    let (own, other) = (get("1"), get("2"));
    assert_eq!((own.hit(), own.text().as_str()), (true, "posted"));
    assert_eq!((other.hit(), other.text().as_str()), (false, "2"));
    assert_eq!(origin.requests("/form"), 4);
}

/// RFC 5861: what refreshes it, and what it stands in for, are `GET`s.
#[test]
fn it_is_refreshed_by_get_and_stands_in_for_errors() {
    let stale = &[
        ("Cache-Control", "max-age=60, stale-while-revalidate=600"),
        ("Age", "70"),
    ];
    let (origin, larder) = form(stale, page);
    let answer = larder.ask("POST", "/form").body("a").send();
    assert!(answer.says("stored"), "{}", answer.said());
    wait_until("it is sent stale", || {
        let ask = larder.get("/form");
        let ask = ask.header("Cache-Control", "only-if-cached");
        ask.send().text() == "posted"
    });
    wait_until("it is refreshed", || origin.requests("/form") == 2);
    let refresh = origin.last("/form");
    assert_eq!((refresh.method.as_str(), &*refresh.body), ("GET", &b""[..]));
    wait_until("what came is sent", || {
        larder.get("/form").send().text() == "page"
    });

    let stale = &[
        ("Cache-Control", "max-age=60, stale-if-error=600"),
        ("Age", "70"),
    ];
    let (_origin, larder) = form(stale, |_| Reply::status(503));
    post(&larder);
    let answer = larder.get("/form").send();
    assert_eq!((answer.status, answer.text().as_str()), (200, "posted"));
}
