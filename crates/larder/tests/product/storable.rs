//! Which responses are stored (RFC 9111 section 3).

use crate::common::{Said, counted, judge_reuse, start, start_with};
use testkit::Reply;

const CC: &str = "Cache-Control";

#[test]
fn any_final_status_with_explicit_lifetime_is_stored() {
    let (origin, larder) = start();
    for status in [
        200, 201, 202, 203, 204, 226, 299, 300, 301, 302, 303, 307, 308, 399, 400, 401, 402, 403,
        404, 405, 406, 409, 410, 414, 418, 421, 422, 451, 499, 500, 501, 502, 503, 504, 599,
    ] {
        let path = format!("/{status}");
        let reply = Reply::status(status).cache("max-age=60");
        let reply = if status == 204 {
            reply
        } else {
            reply.body("content")
        };
        origin.reply(&path, reply);
        let first = larder.get(&path).send();
        let second = larder.get(&path).send();
        assert_eq!((first.status, second.status), (status, status));
        assert_eq!(first.body, second.body);
        assert!(
            second.hit(),
            "9111 section 3: {status} is final: {}",
            second.said()
        );
    }
}

/// RFC 6585 sections 3 to 6, whatever the application or the site says.
#[test]
fn what_is_about_one_client_is_never_stored() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = { any = \"1m\", \"4xx\" = \"1m\" }\nttl_mode = \"override\"\n",
    );
    for status in [426, 428, 429, 431, 511] {
        let path = format!("/{status}");
        origin.reply(&path, Reply::status(status).cache("max-age=60").body("x"));
        larder.get(&path).send();
        let second = larder.get(&path).send();
        assert_eq!(second.status, status);
        assert!(!second.hit(), "{status}: {}", second.said());
    }
}

/// A lifetime for whole classes is not for what a client's own fields or content brought about.
#[test]
fn the_fault_of_one_request_is_not_answered_to_others() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = { \"4xx\" = \"1m\", any = \"1m\" }\n",
    );
    origin.otherwise(|request| match request.header("x-fault") {
        Some(status) => Reply::status(status.parse().expect("a status")).body("yours"),
        None => Reply::ok().body("page"),
    });
    for status in [
        400, 401, 403, 406, 408, 411, 412, 413, 415, 416, 417, 421, 425, 426, 451, 505,
    ] {
        let path = format!("/{status}");
        let fault = larder.get(&path).header("X-Fault", status.to_string());
        assert_eq!(fault.send().status, status);
        assert_eq!(larder.get(&path).send().status, 200, "{status}");
    }
    // What is said of the target and the method holds for all who ask for the same.
    for status in [404, 405, 410, 414, 501] {
        let path = format!("/{status}");
        let first = larder.get(&path).header("X-Fault", status.to_string());
        assert_eq!(first.send().status, status);
        assert_eq!(larder.get(&path).send().status, status);
    }
}

#[test]
fn directives_that_forbid_storing_are_obeyed() {
    let (origin, larder) = start();
    judge_reuse(
        &origin,
        &larder,
        r"
        fetched 200 Cache-Control: no-store                              -- 9111 5.2.2.5: no-store
        fetched 200 Cache-Control: no-store, max-age=60                  -- 9111 5.2.2.5: no-store beside a lifetime
        fetched 200 Cache-Control: max-age=60, No-Store                  -- 9111 5.2.2.5: whatever its case
        fetched 200 Cache-Control: max-age=60, no-store=1                -- 9111 5.2.2.5: with an argument it does not have
        fetched 200 Cache-Control: private, max-age=60                   -- 9111 5.2.2.7: private
        fetched 200 Cache-Control: private, s-maxage=60                  -- 9111 5.2.2.7: private beside s-maxage
        fetched 200 Cache-Control: public, private, max-age=60           -- 9111 5.2.2.7: private and public: the cautious way
        fetched 200 Cache-Control: no-cache, max-age=60                  -- 9111 5.2.2.4: no-cache
        fetched 200 Cache-Control: max-age=60 + Vary: *                  -- 9111 4.1: Vary: *
        reused  200 Cache-Control: no-store, must-understand, max-age=60 -- 9111 5.2.2.3: must-understand with a known status sets no-store aside
        fetched 299 Cache-Control: must-understand, max-age=60           -- 9111 5.2.2.3: must-understand with an unknown status
        reused  200 Cache-Control: max-age=60 + Pragma: no-cache         -- 9111 5.4: Pragma in a response means nothing
        fetched 200 Cache-Control: public                                -- 9111 5.2.2.9: public alone gives no lifetime
    ",
    );
}

#[test]
fn a_response_that_is_not_stored_says_why() {
    let (origin, larder) = start();
    for (path, fields) in [
        ("/no-store", &[(CC, "no-store")][..]),
        ("/private", &[(CC, "private, max-age=60")]),
        ("/star", &[(CC, "max-age=60"), ("Vary", "*")]),
        ("/cookie", &[(CC, "max-age=60"), ("Set-Cookie", "a=b")]),
        ("/nothing", &[]),
    ] {
        origin.reply(path, crate::common::with(Reply::ok().body("x"), fields));
        let answer = larder.get(path).send();
        assert!(!answer.says("stored"), "{path}: {}", answer.said());
        assert!(answer.says("detail"), "{path}: {}", answer.said());
        assert!(answer.says("fwd"), "{path}: {}", answer.said());
    }
}

#[test]
fn fields_named_by_private_are_never_sent_to_another() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        counted(request)
            .cache("private=\"X-Secret\", max-age=60")
            .header("X-Secret", "mine")
    });
    larder.get("/").send();
    let second = larder.get("/").send();
    let fresh = origin.requests("/") == 2;
    assert!(
        fresh || second.header("x-secret").is_none(),
        "9111 section 5.2.2.7"
    );
}

#[test]
fn fields_named_by_no_cache_are_not_reused_and_the_rest_is() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        counted(request)
            .cache("no-cache=\"x-secret, x-other\", max-age=60")
            .header("X-Secret", "mine")
    });
    assert_eq!(larder.get("/").send().header("x-secret"), Some("mine"));
    let second = larder.get("/").send();
    assert_eq!(
        second.header("x-secret"),
        None,
        "9111 section 5.2.2.4: MUST NOT use without validation"
    );
    assert!(
        second.hit(),
        "9111 section 5.2.2.4: without the listed fields it may be reused"
    );
}

#[test]
fn an_authorized_answer_is_shared_only_where_the_origin_says_so() {
    for (directives, shared) in [
        ("max-age=60", false),
        ("max-age=60, no-transform", false),
        ("max-age=60, public", true),
        ("s-maxage=60", true),
        ("max-age=60, must-revalidate", true),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| counted(request).cache(directives));
        larder.get("/").header("Authorization", "Basic YTpi").send();
        let other = larder.get("/").send();
        assert_eq!(
            other.hit(),
            shared,
            "9111 section 3.5: {directives}: {}",
            other.said()
        );
    }
}

#[test]
fn an_anonymous_answer_answers_an_authorized_request() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    larder.get("/").send();
    let authorized = larder.get("/").header("Authorization", "Basic YTpi").send();
    assert!(
        authorized.hit(),
        "9111 section 3.5 speaks of responses to requests with Authorization: {}",
        authorized.said()
    );
}

#[test]
fn a_head_without_content_length_and_a_large_body_are_stored_whole() {
    let (origin, larder) = start();
    let body: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    origin.reply("/length", Reply::ok().cache("max-age=60").body(&body));
    origin.reply(
        "/chunked",
        Reply::ok()
            .cache("max-age=60")
            .chunked()
            .body(&body[..100_000])
            .body(&body[100_000..]),
    );
    origin.reply(
        "/close",
        Reply::ok().cache("max-age=60").until_close().body(&body),
    );
    for path in ["/length", "/chunked", "/close"] {
        for expected in [false, true] {
            let answer = larder.get(path).send();
            assert!(answer.complete && answer.body == body, "{path}");
            assert_eq!(answer.hit(), expected, "{path}");
        }
    }
}

#[test]
fn the_fields_of_a_stored_response_come_back() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("Content-Type", "text/html; charset=utf-8")
            .header("ETag", "\"a\"")
            .header("X-Two", "one")
            .header("X-Two", "two")
            .header("X-Empty", "")
            .header("X-Unknown", "a;b=\"c\", d")
            .body("x"),
    );
    larder.get("/").send();
    let hit = larder.get("/").send();
    assert!(hit.hit());
    assert_eq!(hit.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(hit.header("etag"), Some("\"a\""));
    assert_eq!(hit.headers("x-two"), ["one", "two"]);
    assert_eq!(hit.header("x-empty"), Some(""));
    assert_eq!(hit.header("x-unknown"), Some("a;b=\"c\", d"));
    assert_eq!(hit.header("content-length"), Some("1"));
}

#[test]
fn bytes_outside_ascii_come_back_as_they_were() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("X-Name", "caf\u{e9}")
            .body("x"),
    );
    for _ in 0..2 {
        assert_eq!(
            larder.get("/").send().header("x-name"),
            Some("caf\u{c3}\u{a9}"),
            "9110 section 5.5: obs-text is opaque"
        );
    }
    larder.get("/other").header("X-Name", "caf\u{e9}").send();
    assert_eq!(
        origin.last("/other").header("x-name"),
        Some("caf\u{c3}\u{a9}")
    );
}

#[test]
fn an_empty_answer_is_an_answer() {
    let (origin, larder) = start();
    origin.reply("/length", Reply::ok().cache("max-age=60"));
    origin.reply("/chunked", Reply::ok().cache("max-age=60").chunked());
    origin.reply("/close", Reply::ok().cache("max-age=60").until_close());
    for path in ["/length", "/chunked", "/close"] {
        for hit in [false, true] {
            let answer = larder.get(path).send();
            assert_eq!(
                (
                    answer.status,
                    answer.body.len(),
                    answer.complete,
                    answer.hit()
                ),
                (200, 0, true, hit),
                "{path}"
            );
        }
    }
}

#[test]
fn an_answer_that_is_sent_often_is_made_for_each_client() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.method.as_str() {
        "GET" => counted(request)
            .cache("max-age=60")
            .header("ETag", format!("\"{}\"", request.nth))
            .header("X-Two", "a")
            .header("X-Two", "b"),
        _ => Reply::status(204),
    });
    let mut client = larder.client();
    for generation in ["1", "2"] {
        for _ in 0..30 {
            let tag = format!("\"{generation}\"");
            let get = client.get("/").send();
            assert_eq!(
                (get.text().as_str(), get.header("etag")),
                (generation, Some(tag.as_str()))
            );
            assert_eq!(
                (get.headers("x-two"), get.header("connection")),
                (vec!["a", "b"], None)
            );
            let knows = client.get("/").header("If-None-Match", &tag).send();
            assert_eq!((knows.status, knows.header("content-length")), (304, None));
            let head = client.ask("HEAD", "/").send();
            assert_eq!(
                (head.status, head.header("content-length"), head.body.len()),
                (200, Some("1"), 0)
            );
            let part = client.get("/").header("Range", "bytes=0-0").send();
            assert_eq!(
                (part.status, part.header("content-range")),
                (206, Some("bytes 0-0/1"))
            );
            let none = client.get("/").header("Range", "bytes=5-").send();
            assert_eq!(
                (none.status, none.header("content-range")),
                (416, Some("bytes */1"))
            );
            for answer in [get, knows, head, part, none] {
                assert!(
                    answer.headers("age").len() <= 1
                        && answer.headers("cache-status").len() == 1
                        && answer.headers("date").len() == 1
                );
                assert_eq!(answer.headers("via").len(), 1, "{:?}", answer.head);
            }
            assert_eq!(larder.get("/").send().header("connection"), Some("close"));
        }
        larder.ask("PUT", "/").send();
        // The PUT counts as a request of its own.
        if generation == "1" {
            origin.on("/", |request| match request.method.as_str() {
                "GET" => Reply::ok()
                    .cache("max-age=60")
                    .header("ETag", "\"2\"")
                    .header("X-Two", "a")
                    .header("X-Two", "b")
                    .body("2"),
                _ => Reply::status(204).header("X-Target", &request.target),
            });
        }
    }
}
