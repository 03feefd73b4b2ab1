//! Methods: HEAD, POST, and what unsafe ones invalidate (RFC 9111 sections 2, 4 and 4.4; RFC 9875).

use crate::common::{Said, counted, start};
use testkit::{Gate, Larder, Origin, Reply};

/// Every GET is answered with a count and kept; every other method with what `other` says.
fn start_unsafe(other: impl Fn() -> Reply + Send + Sync + 'static) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.otherwise(move |request| match request.method.as_str() {
        "GET" => counted(request).cache("max-age=60"),
        _ => other(),
    });
    (origin, larder)
}

/// Whether a GET is answered from the store.
fn kept(larder: &Larder, target: &str) -> bool {
    larder
        .get(target)
        .header("Cache-Control", "only-if-cached")
        .send()
        .status
        == 200
}

#[test]
fn head_is_answered_from_a_stored_get() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("X-Field", "yes")
            .body("content"),
    );
    let get = larder.get("/").send();
    let head = larder.ask("HEAD", "/").send();
    assert!(head.hit(), "9111 section 4: {}", head.said());
    assert_eq!(
        (head.status, head.body.len(), head.header("content-length")),
        (200, 0, Some("7"))
    );
    assert_eq!(
        (head.header("x-field"), head.header("date")),
        (Some("yes"), get.header("date"))
    );
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn head_that_misses_fetches_what_answers_both() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("content"));
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(
        (head.status, head.body.len(), head.header("content-length")),
        (200, 0, Some("7"))
    );
    assert_eq!(origin.last("/").method, "GET");
    let get = larder.get("/").send();
    assert!(get.hit() && get.text() == "content", "{}", get.said());
}

#[test]
fn head_of_something_never_stored_works() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("no-store"));
    let mut client = larder.client();
    for _ in 0..3 {
        let head = client.ask("HEAD", "/").send();
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(
            client.get("/").send().status,
            200,
            "the connection is in step"
        );
    }
    assert_eq!(origin.requests("/"), 6);
}

#[test]
fn answers_to_other_methods_are_not_reused() {
    for method in [
        "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "FOO",
    ] {
        let (origin, larder) = start();
        origin.on("/", |request| counted(request).cache("max-age=60"));
        let first = larder.ask(method, "/").body("x").send();
        let second = larder.ask(method, "/").body("x").send();
        assert_eq!(
            (first.text().as_str(), second.text().as_str()),
            ("1", "2"),
            "{method}"
        );
        assert_eq!(
            first.parameter("fwd").as_deref(),
            Some("method"),
            "9211 section 2.2: {method}: {}",
            first.said()
        );
        let get = larder.get("/").send();
        assert_eq!(
            get.text(),
            "3",
            "9111 section 4: {method} does not answer GET"
        );
    }
}

#[test]
fn a_post_that_says_what_it_is_answers_get() {
    for (fields, kept_for_get) in [
        (
            &[
                ("Cache-Control", "max-age=60"),
                ("Content-Location", "/form"),
            ][..],
            true,
        ),
        (&[("Cache-Control", "max-age=60")], false),
        (
            &[
                ("Cache-Control", "max-age=60"),
                ("Content-Location", "/other"),
            ],
            false,
        ),
        (&[("Content-Location", "/form")], false),
        (
            &[("Cache-Control", "no-store"), ("Content-Location", "/form")],
            false,
        ),
    ] {
        let (origin, larder) = start();
        let fields = fields.to_vec();
        origin.on("/form", move |request| {
            crate::common::with(counted(request), &fields)
        });
        larder.ask("POST", "/form").body("a=b").send();
        let get = larder.get("/form").send();
        assert_eq!(
            get.hit(),
            kept_for_get,
            "9110 section 9.3.3: {:?}",
            origin.last("/form").head
        );
        let post = larder.ask("POST", "/form").body("a=c").send();
        assert!(
            !post.hit(),
            "9111 section 4: a POST MUST be written through"
        );
    }
}

#[test]
fn unsafe_methods_that_succeed_invalidate_their_target() {
    for method in ["POST", "PUT", "PATCH", "DELETE", "FOO"] {
        for (status, invalidates) in [
            (200, true),
            (201, true),
            (204, true),
            (303, true),
            (400, false),
            (404, false),
            (500, false),
        ] {
            let (_origin, larder) =
                start_unsafe(move || Reply::status(status).header("Location", "/x"));
            larder.get("/page?a").send();
            larder.get("/page?b").send();
            assert!(kept(&larder, "/page?a"));
            larder.ask(method, "/page?a").body("x").send();
            assert_eq!(
                !kept(&larder, "/page?a"),
                invalidates,
                "9111 section 4.4: {method} {status}"
            );
            assert!(
                kept(&larder, "/page?b"),
                "another URL is untouched: {method} {status}"
            );
        }
    }
}

#[test]
fn safe_methods_invalidate_nothing() {
    for method in ["OPTIONS", "HEAD", "PROPFIND", "REPORT", "SEARCH"] {
        let (_origin, larder) = start_unsafe(Reply::ok);
        larder.get("/page").send();
        larder.ask(method, "/page").send();
        assert!(
            kept(&larder, "/page"),
            "9110 section 9.2.1: {method} is safe"
        );
    }
}

#[test]
fn all_variants_of_the_target_are_invalidated() {
    let (origin, larder) = start();
    origin.on("/page", |request| match request.method.as_str() {
        "GET" => counted(request).cache("max-age=60").header("Vary", "Foo"),
        _ => Reply::status(204),
    });
    for value in ["1", "2"] {
        larder.get("/page").header("Foo", value).send();
    }
    larder.ask("DELETE", "/page").send();
    for value in ["1", "2"] {
        assert!(
            !larder.get("/page").header("Foo", value).send().hit(),
            "9111 section 4.4: all of that URI"
        );
    }
}

#[test]
fn location_and_content_location_are_invalidated_where_they_are_of_the_same_origin() {
    for (field, value, invalidates) in [
        ("Location", "/other", true),
        ("Location", "other", true),
        ("Location", "http://example.test/other", true),
        ("Content-Location", "/other", true),
        ("Content-Location", "./other", true),
        ("Content-Location", "http://example.test/other", true),
        ("Location", "http://elsewhere.test/other", false),
        ("Content-Location", "http://elsewhere.test/other", false),
        ("Content-Location", "https://example.test/other", false),
        ("Location", "http://example.test:81/other", false),
        ("X-Location", "/other", false),
    ] {
        let (_origin, larder) = start_unsafe(move || Reply::status(201).header(field, value));
        larder.get("/other").send();
        larder.get("/other").header("Host", "elsewhere.test").send();
        larder.ask("POST", "/page").body("x").send();
        assert_eq!(
            !kept(&larder, "/other"),
            invalidates,
            "9111 section 4.4: {field}: {value}"
        );
        let elsewhere = larder.get("/other").header("Host", "elsewhere.test").send();
        assert!(
            elsewhere.hit(),
            "9111 section 4.4: MUST NOT across origins: {field}: {value}"
        );
    }
}

#[test]
fn a_fill_that_began_before_an_invalidation_is_not_used_after_it() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        match (request.method.as_str(), request.nth) {
            ("GET", 1) => Reply::ok()
                .cache("max-age=60")
                .hold_head(&held)
                .body("before"),
            ("GET", _) => Reply::ok().cache("max-age=60").body("after"),
            _ => Reply::status(204),
        }
    });
    let mut slow = larder.get("/page").begin();
    gate.wait_reached();
    assert_eq!(larder.ask("PUT", "/page").body("new").send().status, 204);
    gate.open();
    assert_eq!(slow.read().text(), "before", "who asked before may get it");
    assert_eq!(
        larder.get("/page").send().text(),
        "after",
        "who asks after must not"
    );
}

#[test]
fn groups_are_invalidated_together() {
    let (origin, larder) = start();
    origin.otherwise(|request| match (request.method.as_str(), request.path()) {
        ("GET", "/evil") => counted(request)
            .cache("no-store")
            .header("Cache-Group-Invalidation", "\"shoes\""),
        ("GET", "/both") => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"hats\", \"shoes\""),
        ("GET", "/shoes") => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"shoes\""),
        ("GET", "/hats") => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"hats\""),
        ("GET", "/case") => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"Shoes\""),
        _ => Reply::status(204).header("Cache-Group-Invalidation", "\"shoes\", \"unknown\""),
    });
    for path in ["/both", "/shoes", "/hats", "/case"] {
        larder.get(path).send();
    }
    larder.get("/shoes").header("Host", "elsewhere.test").send();
    larder.get("/evil").send();
    assert!(
        kept(&larder, "/shoes"),
        "9875 section 3: MUST be ignored in answers to safe methods"
    );
    larder.ask("POST", "/elsewhere").send();
    for (path, remains) in [
        ("/both", false),
        ("/shoes", false),
        ("/hats", true),
        ("/case", true),
    ] {
        assert_eq!(kept(&larder, path), remains, "9875 section 3: {path}");
    }
    let elsewhere = larder.get("/shoes").header("Host", "elsewhere.test").send();
    assert!(
        elsewhere.hit(),
        "9875 section 2: groups do not span origins"
    );
}

#[test]
fn a_member_of_an_invalidated_group_can_be_stored_again() {
    let (origin, larder) = start();
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"a\""),
        _ => Reply::status(204).header("Cache-Group-Invalidation", "\"a\""),
    });
    larder.get("/").send();
    larder.ask("POST", "/x").send();
    assert!(!larder.get("/").send().hit());
    assert!(larder.get("/").send().hit());
}

#[test]
fn invalidating_one_member_invalidates_the_others_of_its_groups() {
    let (origin, larder) = start();
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"a\""),
        _ => Reply::status(204),
    });
    larder.get("/one").send();
    larder.get("/two").send();
    larder.ask("PUT", "/one").send();
    assert!(!kept(&larder, "/one"));
    assert!(
        !kept(&larder, "/two"),
        "9875 section 2.2.1: those that share a group with what is invalidated"
    );
}

#[test]
fn unknown_methods_are_forwarded_with_their_content() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let answer = larder.ask("FROBNICATE", "/").body("content").send();
    assert_eq!((answer.status, answer.text().as_str()), (200, "done"));
    let asked = origin.last("/");
    assert_eq!(
        (asked.method.as_str(), asked.body.as_slice()),
        ("FROBNICATE", &b"content"[..])
    );
}

#[test]
fn request_content_streams() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let mut client = larder.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
    testkit::wait_until("the first half is with the origin", || {
        origin.received("/") == 5
    });
    client.send("56789");
    assert_eq!(client.read().text(), "done");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n");
    testkit::wait_until("the first chunk is with the origin", || {
        origin.received("/") == 15
    });
    client.send("0\r\n\r\n");
    assert_eq!(client.read().text(), "done");
    assert_eq!(origin.last("/").body, b"01234");
}

#[test]
fn a_client_that_expects_100_gets_it() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let mut client = larder.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(
        client.read_interim().start.split(' ').nth(1),
        Some("100"),
        "9110 section 10.1.1"
    );
    client.send("body");
    assert_eq!(client.read().text(), "done");
    assert_eq!(origin.last("/").body, b"body");
}

#[test]
fn max_forwards_ends_here_when_it_is_zero() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok());
    let answer = larder
        .ask("OPTIONS", "/")
        .header("Max-Forwards", "0")
        .send();
    assert_eq!(
        origin.requests("/"),
        0,
        "9110 section 7.6.2: MUST NOT forward"
    );
    assert!(
        answer.status < 500,
        "9110 section 7.6.2: MUST respond as the final recipient: {}",
        answer.status
    );
    larder
        .ask("OPTIONS", "/")
        .header("Max-Forwards", "5")
        .send();
    assert_eq!(
        origin.last("/").header("max-forwards"),
        Some("4"),
        "9110 section 7.6.2: MUST be decremented"
    );
}

/// `/page` answers GET at the gate the first time with this reply, and with `after` later; other methods with 204.
fn held_first(first: Reply) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/page", move |request| {
        match (request.method.as_str(), request.header("x-second")) {
            ("GET", None) => first.clone(),
            ("GET", Some(_)) => Reply::ok().cache("max-age=60").body("after"),
            _ => Reply::status(204),
        }
    });
    (origin, larder)
}

#[test]
fn who_asks_after_an_invalidation_does_not_follow_a_fetch_that_began_before_it() {
    let (head, body) = (Gate::new(), Gate::new());
    let reply = || Reply::ok().cache("max-age=60");
    for (gate, reply) in [
        (&head, reply().hold_head(&head).body("before")),
        (&body, reply().length(6).body("bef").hold(&body).body("ore")),
    ] {
        let (_origin, larder) = held_first(reply);
        let mut slow = larder.get("/page").begin();
        gate.wait_reached();
        assert_eq!(larder.ask("PUT", "/page").body("new").send().status, 204);
        let after = larder.get("/page").header("X-Second", "1").send();
        assert_eq!(after.text(), "after", "{}", after.said());
        gate.open();
        assert_eq!(slow.read().text(), "before");
        assert_eq!(
            larder.get("/page").header("X-Second", "1").send().text(),
            "after"
        );
    }
}

#[test]
fn a_validation_that_began_before_an_invalidation_does_not_bring_the_response_back() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        match (request.method.as_str(), request.header("if-none-match")) {
            ("GET", None) if held.reached() == 0 => Reply::ok()
                .cache("max-age=60")
                .header("Age", "100")
                .header("ETag", "\"a\"")
                .body("before"),
            ("GET", Some(_)) if held.reached() == 0 => Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
                .hold_head(&held),
            ("GET", _) => Reply::ok()
                .cache("max-age=60")
                .header("ETag", "\"b\"")
                .body("after"),
            _ => Reply::status(204),
        }
    });
    larder.get("/page").send();
    let mut validating = larder.get("/page").begin();
    gate.wait_reached();
    larder.ask("DELETE", "/page").send();
    gate.open();
    assert_eq!(validating.read().status, 200);
    assert_eq!(larder.get("/page").send().text(), "after");
}

#[test]
fn a_refresh_that_began_before_an_invalidation_is_not_used_after_it() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        match (request.method.as_str(), request.nth) {
            ("GET", 1) => Reply::ok()
                .cache("max-age=60, stale-while-revalidate=600")
                .header("Age", "100")
                .body("oldest"),
            ("GET", 2) => Reply::ok()
                .cache("max-age=60")
                .hold_head(&held)
                .body("before"),
            ("GET", _) => Reply::ok().cache("max-age=60").body("after"),
            _ => Reply::status(204),
        }
    });
    larder.get("/page").send();
    assert_eq!(larder.get("/page").send().text(), "oldest");
    gate.wait_reached();
    larder.ask("POST", "/page").send();
    gate.open();
    for _ in 0..3 {
        assert_eq!(larder.get("/page").send().text(), "after");
    }
}

#[test]
fn conditions_of_other_methods_are_the_origins_to_judge() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.method.as_str() {
        "GET" => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("content"),
        _ => Reply::status(412),
    });
    larder.get("/").send();
    let answer = larder
        .ask("PUT", "/")
        .header("If-Match", "\"a\"")
        .header("If-None-Match", "*")
        .body("x")
        .send();
    assert_eq!(answer.status, 412);
    let asked = origin.last("/");
    assert_eq!(
        (asked.header("if-match"), asked.header("if-none-match")),
        (Some("\"a\""), Some("*"))
    );
    assert!(
        larder.get("/").send().hit(),
        "9111 section 4.4: an error invalidates nothing"
    );
}

#[test]
fn a_forwarded_head_refreshes_or_disqualifies_the_stored_get() {
    for (tag, length, kept) in [
        ("\"a\"", "7", true),
        ("\"b\"", "7", false),
        ("\"a\"", "8", false),
    ] {
        let config = "[[origin]]\nservers = \"{origin}\"\n[defaults.bypass]\nheaders = \"Bypass-Cache: 1\"\n";
        let (origin, larder) = crate::common::start_with(config);
        origin.on("/", move |request| {
            let reply = Reply::ok().cache("max-age=60");
            if request.method == "HEAD" {
                return reply
                    .header("ETag", tag)
                    .header("Content-Length", length)
                    .header("X-Version", "2");
            }
            reply
                .header("ETag", "\"a\"")
                .header("X-Version", "1")
                .body("content")
        });
        larder.get("/").send();
        larder.ask("HEAD", "/").header("Bypass-Cache", "1").send();
        assert_eq!(origin.last("/").method, "HEAD");
        let get = larder.get("/").send();
        assert_eq!(
            get.hit(),
            kept,
            "9111 section 4.3.5: {tag} {length}: {}",
            get.said()
        );
        if kept {
            assert_eq!(
                get.header("x-version"),
                Some("2"),
                "9111 section 4.3.5: SHOULD update"
            );
        }
    }
}
