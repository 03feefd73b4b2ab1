//! What unsafe methods invalidate (RFC 9111 section 4.4, RFC 9875), and what was under way meanwhile.

use super::frames::{PREFACE, frame, literal};
use crate::common::{Said, counted, sample, start, start_with};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use testkit::{Gate, Larder, Origin, Reply, wait_until};

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

/// The application may have done what it was asked to, and nobody has heard whether it did.
#[test]
fn an_unsafe_request_without_an_answer_invalidates_its_target() {
    for (what, reply) in [
        ("leaves", Reply::ok().hang()),
        ("closes", Reply::close()),
        ("late", Reply::ok().hang()),
        ("broken", Reply::raw("HTTP/1.1 what\r\n\r\n")),
    ] {
        // What is to be stored has all the time it needs.
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nname = \"pages\"\nservers = \"{{origin}}\"\n\
             [[origin]]\nname = \"forms\"\nservers = \"{{origin}}\"\ntimeouts.first_byte = \"{}\"\n\
             [[route]]\nmethod = \"POST\"\norigin = \"forms\"\n[[route]]\norigin = \"pages\"\n",
            if what == "late" { "10ms" } else { "1h" }
        ));
        origin.otherwise(move |request| match request.method.as_str() {
            "GET" => counted(request).cache("max-age=60"),
            _ => reply.clone(),
        });
        larder.get("/page").send();
        larder.get("/other").send();
        let mut client = larder.ask("POST", "/page").body("x").begin();
        if what == "leaves" {
            origin.wait_requests("/page", 2);
            drop(client);
        } else {
            assert!(client.read().status >= 500, "{what}");
        }
        wait_until("what was stored is gone", || !kept(&larder, "/page"));
        assert!(kept(&larder, "/other"), "{what}");
    }
}

/// The first of two attempts may have done it, and the second fails for that reason.
#[test]
fn one_that_is_sent_twice_invalidates_its_target_if_the_first_was_not_answered() {
    for (method, status, is_kept) in [
        ("DELETE", 404, false),
        ("DELETE", 412, false),
        ("DELETE", 503, false),
        ("DELETE", 204, false),
        ("PUT", 409, false),
        ("OPTIONS", 404, true),
    ] {
        let (origin, larder) = start();
        let first = AtomicBool::new(true);
        origin.otherwise(move |request| match request.method.as_str() {
            "GET" => counted(request).cache("max-age=60"),
            _ if first.swap(false, SeqCst) => Reply::close(),
            _ => Reply::status(status),
        });
        larder.get("/page").send();
        larder.get("/other").send();
        let answer = larder.ask(method, "/page").send();
        assert_eq!(answer.status, status, "{method}");
        assert_eq!(origin.requests("/page"), 3, "{method}");
        assert_eq!(kept(&larder, "/page"), is_kept, "{method} {status}");
        assert!(kept(&larder, "/other"), "{method} {status}");
    }
}

#[test]
fn one_whose_content_does_not_come_in_time_invalidates_its_target() {
    let (origin, larder) =
        start_with("limits.body_time = \"100ms\"\n[[origin]]\nservers = \"{origin}\"");
    origin.otherwise(|request| counted(request).cache("max-age=600"));
    larder.get("/page").send();
    let mut client = larder.client();
    client.send("POST /page HTTP/1.1\r\nHost: example.test\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(client.read_head().status, 408);
    wait_until("what was stored is gone", || !kept(&larder, "/page"));

    // Over HTTP/2 the connection goes on, and the request is answered as any other.
    larder.get("/page").send();
    assert!(kept(&larder, "/page"));
    let mut client = larder.client();
    client.send(PREFACE);
    client.send(frame(4, 0, &[]));
    let head = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "example.test"),
        (":path", "/page"),
    ];
    client.send(frame(1, 1, &head.map(literal).concat()));
    client.send(frame(0, 1, b"half"));
    wait_until("what was stored is gone", || !kept(&larder, "/page"));
}

#[test]
fn what_it_may_have_changed_still_stands_in_for_an_origin_that_is_gone() {
    let (origin, larder) = start_unsafe(Reply::close);
    let page = larder.get("/page").send();
    assert_eq!(larder.ask("POST", "/page").send().status, 502);
    assert!(!kept(&larder, "/page"));
    origin.stop();
    let answer = larder.get("/page").send();
    assert_eq!((answer.status, answer.text()), (200, page.text()));
}

#[test]
fn one_that_was_never_sent_invalidates_nothing() {
    let (origin, larder) = start_unsafe(Reply::ok);
    larder.get("/page").send();
    origin.stop();
    for method in ["POST", "DELETE"] {
        let refused = larder.ask(method, "/page").send();
        assert_eq!(refused.status, 502, "{method}");
        assert!(kept(&larder, "/page"), "{method}");
    }
}

/// Whoever ended it.
#[test]
fn nor_does_one_that_ends_before_any_of_it_is_sent() {
    let (origin, larder) = start_with(
        "limits.request_body = \"1KiB\"\n[[origin]]\nservers = \"{origin}\"\nmost_concurrent = 1\n",
    );
    let gate = Gate::new();
    let held = Reply::ok().cache("no-store").hold_head(&gate);
    origin.on("/page", |request| counted(request).cache("max-age=600"));
    origin.reply("/held", held);
    larder.get("/page").send();
    let too_much = format!("800\r\n{}", "x".repeat(2048));
    for (content, status) in [("what\r\n", 400), (&too_much, 413)] {
        let mut client = larder.client();
        client.send(format!(
            "POST /page HTTP/1.1\r\nHost: example.test\r\nTransfer-Encoding: chunked\r\n\r\n{content}"
        ));
        assert_eq!(client.read_head().status, status);
        assert!(kept(&larder, "/page"), "{status}");
    }
    let mut first = larder.get("/held").begin();
    gate.wait_reached();
    for (left, content) in [(1, ""), (2, "content")] {
        let waits = larder.ask("POST", "/page").body(content).begin();
        let queued = "larder_origin_queued{origin=\"origin\"}";
        wait_until("it waits for a turn", || sample(&larder, queued) == 1);
        drop(waits);
        wait_until("it has left", || {
            sample(&larder, "larder_clients_left_total") == left
        });
        assert!(kept(&larder, "/page"), "{content:?}");
    }
    gate.open();
    assert_eq!(first.read().status, 200);
    assert_eq!(origin.requests("/page"), 1);
    assert_eq!(sample(&larder, "larder_invalidations_total"), 0);
}

#[test]
fn nor_does_a_safe_one_without_an_answer() {
    let (_origin, larder) = start_unsafe(Reply::close);
    larder.get("/page").send();
    assert_eq!(larder.ask("OPTIONS", "/page").send().status, 502);
    assert!(kept(&larder, "/page"));
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
        ("Location", "http://example.test:80/other", true),
        ("Location", "HTTP://Example.Test/other", true),
        ("Location", "//example.test/other", true),
        ("Content-Location", "x/../other", true),
        ("Content-Location", "/%6fther", true),
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

/// RFC 9875 section 2.1: a group is of one origin, and a scheme makes another (RFC 9110 section 4.3.1).
#[test]
fn groups_do_not_span_schemes() {
    let (origin, larder) =
        start_with("trusted = \"127.0.0.0/8\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request)
            .cache("max-age=60")
            .header("Cache-Groups", "\"a\""),
        _ => Reply::status(204).header("Cache-Group-Invalidation", "\"a\""),
    });
    let ask = |method: &str, path: &str, scheme: &str| {
        let ask = larder.ask(method, path).header("X-Forwarded-Proto", scheme);
        ask.send()
    };
    for scheme in ["http", "https"] {
        ask("GET", "/page", scheme);
    }
    ask("POST", "/x", "http");
    assert!(ask("GET", "/page", "https").hit());
    assert!(!ask("GET", "/page", "http").hit());
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

/// What else is part of the key does not part a group.
#[test]
fn invalidating_a_member_that_is_kept_by_field_or_cookie_invalidates_the_others() {
    let own_route = "[[route]]\nmethod = \"POST\"\ncache = false\n[[route]]\n";
    let by_field = "key.headers = \"X-Country\"";
    for config in [
        String::new(),
        format!("[defaults]\n{by_field}"),
        "[defaults]\nkey.cookies = \"currency\"".to_owned(),
        "[defaults]\nkey = { cookies = \"currency\", drop_cookies = true }".to_owned(),
        format!("{own_route}{by_field}"),
        "[[route]]\npath = \"/o*\"\nheader = \"X-Country: de\"\n[[route]]".to_owned(),
    ] {
        let (origin, larder) = start_with(&format!(
            "trusted = \"127.0.0.0/8\"\n[[origin]]\nservers = \"{{origin}}\"\n{config}"
        ));
        origin.otherwise(|request| match request.method.as_str() {
            "GET" => counted(request)
                .cache("max-age=60")
                .header("Cache-Groups", "\"a\""),
            _ => Reply::status(204),
        });
        let ask = |method: &str, path: &str, country: &str| {
            let ask = larder.ask(method, path).header("X-Country", country);
            let ask = ask.header("Cookie", format!("id=1; currency={country}"));
            // What a trusted proxy tells is part of the key too.
            if config.is_empty() {
                ask.header("X-Forwarded-Prefix", "/shop").send()
            } else {
                ask.send()
            }
        };
        for path in ["/one", "/two"] {
            ask("GET", path, "de");
            assert!(ask("GET", path, "de").hit(), "{config}");
        }
        ask("POST", "/one", "de");
        for path in ["/one", "/two"] {
            let again = ask("GET", path, "de");
            assert!(!again.hit(), "{config}: {path}: {}", again.said());
        }
    }
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

/// Whatever its own route keys of the query, and in which order.
#[test]
fn a_target_is_invalid_on_the_routes_of_all_requests() {
    for (routes, target) in [
        (
            "[[route]]\nmethod = \"POST\"\nkey.query = \"none\"\n",
            "/p?id=3",
        ),
        (
            "[[route]]\nmethod = \"POST\"\nkey.drop = [\"id\"]\n",
            "/p?id=3",
        ),
        (
            "[[route]]\nmethod = \"POST\"\nkey.sort = true\n",
            "/p?b=1&a=2",
        ),
        (
            "[[route]]\nmethod = \"POST\"\ncache = false\nkey.query = \"none\"\n",
            "/p?id=3",
        ),
        (
            "[defaults]\nkey.drop_tracking = true\n[[route]]\nmethod = \"GET\"\nkey.sort = true\n",
            "/p?utm_source=x&id=3",
        ),
    ] {
        let (origin, larder) =
            start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{routes}"));
        origin.otherwise(|request| counted(request).cache("max-age=60"));
        larder.get(target).send();
        assert!(larder.get(target).send().hit(), "{routes}");
        assert_eq!(larder.ask("POST", target).body("x").send().status, 200);
        let answer = larder.get(target).send();
        assert!(
            !answer.hit(),
            "9111 section 4.4: {routes}: {}",
            answer.said()
        );
    }
}

/// The application knows itself by the name that it is asked by.
#[test]
fn a_location_at_the_applications_own_name_is_the_clients() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\norigin_host = \"app.internal:8000\"\n",
    );
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request).cache("max-age=60"),
        _ => Reply::status(201)
            .header("Location", "http://app.internal:8000/new")
            .header("Content-Location", "http://app.internal/other"),
    });
    for path in ["/new", "/other"] {
        larder.get(path).send();
        assert!(kept(&larder, path));
    }
    larder.ask("POST", "/").send();
    assert!(!kept(&larder, "/new"), "9111 section 4.4");
    assert!(kept(&larder, "/other"), "another origin");
}

/// What hosts or schemes share is in one group, whoever it was fetched for.
#[test]
fn what_is_kept_together_is_grouped_together() {
    for (key, host, proto) in [
        (
            "key.host = false\norigin_host = \"App.internal\"",
            "b.test",
            "http",
        ),
        ("key.scheme = false", "a.test", "https"),
        (
            "key = { host = false, scheme = false }\norigin_host = \"app.internal\"",
            "b.test",
            "https",
        ),
    ] {
        let (origin, larder) = start_with(&format!(
            "trusted = [\"127.0.0.1\"]\n[[origin]]\nservers = \"{{origin}}\"\n[defaults]\n{key}\n"
        ));
        origin.otherwise(|request| match request.method.as_str() {
            "GET" => counted(request)
                .cache("max-age=60")
                .header("Cache-Groups", "\"shoes\""),
            _ => Reply::status(204).header("Cache-Group-Invalidation", "\"shoes\""),
        });
        let ask = |method: &str, path: &str, host: &str, proto: &str| {
            let ask = larder.ask(method, path).header("Host", host);
            ask.header("X-Forwarded-Proto", proto).send()
        };
        ask("GET", "/page", "a.test", "http");
        let other = ask("GET", "/page", host, proto);
        assert!(other.hit(), "{key}: {}", other.said());
        ask("POST", "/elsewhere", host, proto);
        let first = ask("GET", "/page", "a.test", "http");
        assert!(!first.hit(), "9875 section 3: {key}: {}", first.said());
    }
}
