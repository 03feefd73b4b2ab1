//! Validation with the origin (RFC 9111 section 4.3).

use crate::common::{Said, start};
use testkit::{Reply, Request, date};

/// An answer that is stale from the start: its lifetime is 60 seconds and its age 100.
fn stale() -> Reply {
    Reply::ok().cache("max-age=60").header("Age", "100")
}

fn is_conditional(request: &Request) -> bool {
    request.header("if-none-match").is_some() || request.header("if-modified-since").is_some()
}

#[test]
fn a_stale_response_is_validated_with_every_validator_at_hand() {
    let (origin, larder) = start();
    let modified = date(-1000);
    let stored = modified.clone();
    origin.on("/both", move |_| {
        stale()
            .header("ETag", "\"a\"")
            .header("Last-Modified", &stored)
            .body("x")
    });
    origin.on("/etag", |_| stale().header("ETag", "W/\"weak\"").body("x"));
    let stored = modified.clone();
    origin.on("/date", move |_| {
        stale().header("Last-Modified", &stored).body("x")
    });
    for (path, tag, since) in [
        ("/both", Some("\"a\""), Some(modified.as_str())),
        ("/etag", Some("W/\"weak\""), None),
        ("/date", None, Some(modified.as_str())),
    ] {
        larder.get(path).send();
        assert!(!is_conditional(&origin.last(path)));
        let second = larder.get(path).send();
        assert_eq!(second.parameter("fwd").as_deref(), Some("stale"), "{path}");
        let asked = origin.last(path);
        assert_eq!(
            asked.header("if-none-match"),
            tag,
            "9111 section 4.3.1: MUST send the entity tag: {path}"
        );
        assert_eq!(
            asked.header("if-modified-since"),
            since,
            "9111 section 4.3.1: SHOULD send Last-Modified: {path}"
        );
    }
}

#[test]
fn a_304_freshens_the_stored_response() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if is_conditional(request) {
            Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
                .header("X-Version", "2")
                .header("X-New", "yes")
        } else {
            stale()
                .header("ETag", "\"a\"")
                .header("X-Version", "1")
                .header("X-Old", "yes")
                .body("content")
        }
    });
    assert_eq!(larder.get("/").send().header("x-version"), Some("1"));
    let validated = larder.get("/").send();
    assert_eq!(
        (validated.status, validated.text().as_str()),
        (200, "content")
    );
    assert_eq!(
        validated.headers("x-version"),
        ["2"],
        "9111 section 3.2: fields of the 304 replace the stored ones"
    );
    let hit = larder.get("/").send();
    assert!(
        hit.hit(),
        "9111 section 4.3.4: the 304 freshens: {}",
        hit.said()
    );
    assert_eq!((hit.status, hit.text().as_str()), (200, "content"));
    assert_eq!(hit.headers("x-version"), ["2"]);
    assert_eq!(
        (hit.header("x-new"), hit.header("x-old")),
        (Some("yes"), Some("yes"))
    );
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn a_304_does_not_change_how_the_content_is_framed() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if is_conditional(request) {
            let reply = Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
                .header("Content-Length", "3");
            reply
                .header("Content-Encoding", "gzip")
                .header("Connection", "X-Hop")
                .header("X-Hop", "1")
        } else {
            stale().header("ETag", "\"a\"").body("content")
        }
    });
    larder.get("/").send();
    for _ in 0..2 {
        let answer = larder.get("/").send();
        assert_eq!(answer.text(), "content");
        assert_eq!(
            answer.headers("content-length"),
            ["7"],
            "9111 section 3.2: Content-Length is exempt"
        );
        assert_eq!(
            answer.header("x-hop"),
            None,
            "9111 section 3.2: Connection-nominated fields are exempt"
        );
    }
}

#[test]
fn a_200_replaces_the_stored_response() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if is_conditional(request) {
            Reply::ok()
                .cache("max-age=60")
                .header("ETag", "\"b\"")
                .body("second")
        } else {
            stale()
                .header("ETag", "\"a\"")
                .header("X-Old", "yes")
                .body("first")
        }
    });
    larder.get("/").send();
    assert_eq!(larder.get("/").send().text(), "second");
    let hit = larder.get("/").send();
    assert!(hit.hit());
    assert_eq!(
        (hit.text().as_str(), hit.header("etag"), hit.header("x-old")),
        ("second", Some("\"b\""), None)
    );
}

#[test]
fn no_cache_is_validated_each_time_and_spares_the_content() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if request.header("if-none-match") == Some("\"a\"") {
            Reply::status(304).cache("no-cache").header("ETag", "\"a\"")
        } else {
            Reply::ok()
                .cache("no-cache")
                .header("ETag", "\"a\"")
                .body("content")
        }
    });
    for count in 1..4 {
        let answer = larder.get("/").send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "content"));
        assert!(
            !answer.hit(),
            "9111 section 5.2.2.4: MUST NOT be reused without validation"
        );
        assert_eq!(origin.requests("/"), count);
    }
    assert_eq!(origin.last("/").header("if-none-match"), Some("\"a\""));
}

#[test]
fn the_tags_of_all_variants_go_into_one_request_and_the_304_chooses() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let language = request.header("accept-language").unwrap_or_default();
        if is_conditional(request) {
            return Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"de\"")
                .header("Vary", "Accept-Language");
        }
        let tag = format!("\"{language}\"");
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
            .header("ETag", tag)
            .body(language)
    });
    larder.get("/").header("Accept-Language", "en").send();
    larder.get("/").header("Accept-Language", "de").send();
    let third = larder.get("/").header("Accept-Language", "at").send();
    let asked = origin.last("/");
    let tags = asked
        .header("if-none-match")
        .expect("9111 section 4.3.1: a variant miss can be validated");
    assert!(tags.contains("\"en\"") && tags.contains("\"de\""), "{tags}");
    assert_eq!(
        (third.status, third.text().as_str()),
        (200, "de"),
        "9111 section 4.3.4: the response with the 304's tag"
    );
    assert_eq!(
        larder
            .get("/")
            .header("Accept-Language", "en")
            .send()
            .text(),
        "en"
    );
}

#[test]
fn a_304_for_something_else_is_never_sent_to_a_client_that_did_not_ask_for_it() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        match (request.nth, is_conditional(request)) {
            (1, _) => stale().header("ETag", "\"a\"").body("first"),
            (_, true) => Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"other\""),
            (_, false) => Reply::ok()
                .cache("max-age=60")
                .header("ETag", "\"c\"")
                .body("third"),
        }
    });
    larder.get("/").send();
    let second = larder.get("/").send();
    assert_eq!(
        (second.status, second.text().as_str()),
        (200, "third"),
        "9111 section 4.3.4: a strong validator that matches none MUST NOT update any; so the cache asks without condition"
    );
}

#[test]
fn a_304_without_tag_freshens_the_only_stored_response() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = if is_conditional(request) {
            Reply::status(304)
        } else {
            stale().body("content")
        };
        if is_conditional(request) {
            reply.cache("max-age=60")
        } else {
            reply.header("Last-Modified", date(-1000))
        }
    });
    larder.get("/").send();
    assert_eq!(larder.get("/").send().text(), "content");
    assert!(larder.get("/").send().hit());
}

#[test]
fn a_failed_validation_without_leave_to_be_stale_passes_the_error_on() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60, must-revalidate")
            .header("Age", "100")
            .header("ETag", "\"a\"")
            .body("old"),
        2 => Reply::status(503).body("sorry"),
        _ => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\""),
    });
    larder.get("/").send();
    let failed = larder.get("/").send();
    assert_eq!((failed.status, failed.text().as_str()), (503, "sorry"));
    let after = larder.get("/").send();
    assert_eq!(
        (after.status, after.text().as_str()),
        (200, "old"),
        "an error that is not storable does not replace it"
    );
}

#[test]
fn a_clients_own_condition_is_answered_after_our_validation() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if request
            .header("if-none-match")
            .is_some_and(|tags| tags.contains("\"stored\""))
        {
            Reply::status(304)
                .cache("max-age=0")
                .header("ETag", "\"stored\"")
        } else {
            stale().header("ETag", "\"stored\"").body("content")
        }
    });
    larder.get("/").send();
    let other = larder.get("/").header("If-None-Match", "\"client\"").send();
    assert_eq!((other.status, other.text().as_str()), (200, "content"));
    let same = larder
        .get("/")
        .header("If-None-Match", "\"client\", \"stored\"")
        .send();
    assert_eq!((same.status, same.body.len()), (304, 0));
}

#[test]
fn a_304_that_forbids_storing_says_so_to_the_client_too() {
    for directives in ["no-store", "private"] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            if is_conditional(request) {
                Reply::status(304)
                    .cache(directives)
                    .header("ETag", "\"a\"")
                    .header("X-Version", "2")
            } else {
                stale()
                    .header("ETag", "\"a\"")
                    .header("X-Version", "1")
                    .body("content")
            }
        });
        larder.get("/").send();
        let validated = larder.get("/").send();
        assert_eq!(
            (validated.status, validated.text().as_str()),
            (200, "content")
        );
        assert_eq!(
            validated.headers("cache-control"),
            [directives],
            "9111 section 3.2: the fields of the 304 replace the stored ones"
        );
        assert_eq!(validated.header("x-version"), Some("2"));
        larder.get("/").send();
        assert!(
            !is_conditional(&origin.last("/")),
            "9111 section 3: it is no longer stored"
        );
    }
}

/// The origin has promised the page to others. A client that asks for its own word may get one of its own.
#[test]
fn what_is_private_in_a_304_to_a_reload_is_about_that_client() {
    for (directives, age, stays) in [
        ("private", "0", true),
        ("private", "700", false),
        ("no-store", "0", false),
    ] {
        for method in ["GET", "HEAD"] {
            let (origin, larder) = start();
            origin.on("/", move |request| {
                let is_first = request.method == "GET" && !is_conditional(request);
                match (is_first, request.method.as_str()) {
                    (true, _) => Reply::ok()
                        .cache("max-age=600")
                        .header("Age", age)
                        .header("ETag", "\"a\"")
                        .body("content"),
                    (false, "HEAD") => Reply::ok()
                        .cache(directives)
                        .header("ETag", "\"a\"")
                        .length(7),
                    (false, _) => Reply::status(304).cache(directives).header("ETag", "\"a\""),
                }
            });
            larder.get("/").send();
            let reload = larder.ask(method, "/").header("Cache-Control", "no-cache");
            let reload = match method {
                // Only the origin may judge this condition.
                "HEAD" => reload.header("If-Match", "\"b\""),
                _ => reload,
            };
            assert_eq!(reload.send().header("cache-control"), Some(directives));
            let next = larder.get("/").header("Cache-Control", "max-stale").send();
            let said = next.said();
            assert_eq!(next.hit(), stays, "{method}, {directives}, {age}: {said}");
        }
    }
}

#[test]
fn a_client_that_wants_nothing_stored_throws_nothing_out() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if is_conditional(request) {
            Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
        } else {
            stale().header("ETag", "\"a\"").body("content")
        }
    });
    larder.get("/").send();
    let answer = larder.get("/").header("Cache-Control", "no-store").send();
    assert_eq!(answer.text(), "content");
    larder.get("/").send();
    assert_eq!(
        origin
            .recorded("/")
            .iter()
            .filter(|request| !is_conditional(request))
            .count(),
        1,
        "what was stored before is still there"
    );
}

#[test]
fn a_304_may_change_what_a_response_varies_by() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if is_conditional(request) {
            let reply = Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"a\"");
            return reply.header("Vary", "Foo");
        }
        let reply = match request.nth {
            1 => Reply::ok().cache("max-age=60").header("Age", "100"),
            _ => Reply::ok().cache("max-age=60").header("Vary", "Foo"),
        };
        let tag = if request.nth == 1 { "\"a\"" } else { "\"b\"" };
        reply.header("ETag", tag).body(tag)
    });
    larder.get("/").header("Foo", "1").send();
    larder.get("/").header("Foo", "1").send();
    assert!(larder.get("/").header("Foo", "1").send().hit());
    let other = larder.get("/").header("Foo", "2").send();
    assert!(
        !other.hit(),
        "9111 section 4.1: the stored response has that Vary now: {}",
        other.said()
    );
}

#[test]
fn a_304_from_another_cache_brings_its_age() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => stale().header("ETag", "\"a\"").body("content"),
        _ => Reply::status(304)
            .cache("max-age=600")
            .header("ETag", "\"a\"")
            .header("Age", "50"),
    });
    larder.get("/").send();
    for directives in ["no-store", "max-age=1000"] {
        let answer = larder.get("/").header("Cache-Control", directives).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "content"));
        let age = answer.header("age").and_then(|age| age.parse::<u64>().ok());
        assert!(
            age.is_some_and(|age| age >= 50),
            "9111 section 4.2.3: {directives}: {age:?}"
        );
    }
}

/// It is no answer to what was asked (RFC 9110 section 15.4.5), and tells nothing of what is stored.
#[test]
fn a_304_without_validators_confirms_nothing_that_was_not_asked_about() {
    let (origin, larder) = start();
    origin.on("/unnamed", |request| match request.nth {
        1 => stale().body("old"),
        2 => Reply::status(304).cache("max-age=60"),
        _ => Reply::ok().cache("max-age=60").body("new"),
    });
    // What has its content in the key is asked for without a condition.
    origin.on("/keyed", |request| match request.nth {
        1 => stale().header("ETag", "\"a\"").body("old"),
        2 => Reply::status(304).cache("max-age=60"),
        _ => Reply::ok().cache("max-age=60").body("new"),
    });
    for (method, path) in [("GET", "/unnamed"), ("QUERY", "/keyed")] {
        let ask = || match method {
            "GET" => larder.get(path),
            _ => larder
                .ask(method, path)
                .header("Content-Type", "text/plain")
                .body("a"),
        };
        assert_eq!(ask().send().text(), "old");
        assert_eq!(ask().send().text(), "new", "9111 section 4.3.4: {path}");
        let third = ask().send();
        assert_eq!((third.text().as_str(), third.hit()), ("new", true));
        assert!(!origin.recorded(path).iter().any(is_conditional), "{path}");
    }
    // After a 304 for something else, no condition is sent.
    origin.on("/other", |request| match request.nth {
        1 => stale()
            .cache("must-revalidate")
            .header("ETag", "\"a\"")
            .body("old"),
        2 => Reply::status(304).header("ETag", "\"other\""),
        _ => Reply::status(304).cache("max-age=60"),
    });
    assert_eq!(larder.get("/other").send().text(), "old");
    let second = larder.get("/other").send();
    let detail = second.parameter("detail");
    assert_eq!((second.status, detail.as_deref()), (502, Some("unasked")));
    assert_eq!(origin.requests("/other"), 3);
}
