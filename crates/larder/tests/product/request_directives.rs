//! What the client's `Cache-Control` and `Pragma` ask for (RFC 9111 section 5.2.1).

use crate::common::{Said, counted, start};
use testkit::{Larder, Origin, Reply, Response};

/// `/` is stored with a lifetime of 100 seconds and an age of 40.
fn stored(directives: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/", move |request| {
        counted(request).cache(directives).header("Age", "40")
    });
    larder.get("/").send();
    (origin, larder)
}

fn ask(larder: &Larder, directives: &str) -> Response {
    larder.get("/").header("Cache-Control", directives).send()
}

#[test]
fn directives_choose_whether_the_stored_response_will_do() {
    for (sentence, directives, hit) in [
        ("5.2.1.4: no-cache", "no-cache", false),
        ("5.2.1.4: whatever its case", "No-Cache", false),
        ("5.2.1.1: older than max-age", "max-age=10", false),
        ("5.2.1.1: max-age=0", "max-age=0", false),
        ("5.2.1.1: younger than max-age", "max-age=50", true),
        ("5.2.1.3: fresh for as long", "min-fresh=50", true),
        ("5.2.1.3: not fresh for as long", "min-fresh=80", false),
        ("5.2.1.2: max-stale takes nothing away", "max-stale=5", true),
        ("5.2.1.7: only-if-cached", "only-if-cached", true),
        ("5.2.3: unknown ones are ignored", "foo, bar=1", true),
        (
            "5.2.1.6: no-transform changes nothing here",
            "no-transform",
            true,
        ),
    ] {
        let (origin, larder) = stored("max-age=100");
        let answer = ask(&larder, directives);
        assert_eq!(
            answer.hit(),
            hit,
            "9111 section {sentence}: {}",
            answer.said()
        );
        assert_eq!(origin.requests("/"), if hit { 1 } else { 2 }, "{sentence}");
        if !hit {
            assert_eq!(
                answer.parameter("fwd").as_deref(),
                Some("request"),
                "9211 section 2.2: {sentence}"
            );
        }
    }
}

#[test]
fn what_a_forced_fetch_brings_is_stored() {
    let (_origin, larder) = stored("max-age=100");
    assert_eq!(ask(&larder, "no-cache").text(), "2");
    let after = larder.get("/").send();
    assert!(after.hit() && after.text() == "2", "{}", after.said());
}

#[test]
fn a_forced_fetch_of_something_with_a_validator_is_a_validation() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("if-none-match") {
        Some("\"a\"") => Reply::status(304)
            .cache("max-age=100")
            .header("ETag", "\"a\""),
        _ => Reply::ok()
            .cache("max-age=100")
            .header("ETag", "\"a\"")
            .body("content"),
    });
    larder.get("/").send();
    let answer = ask(&larder, "no-cache");
    assert_eq!((answer.status, answer.text().as_str()), (200, "content"));
    assert_eq!(origin.last("/").header("if-none-match"), Some("\"a\""));
}

#[test]
fn stale_answers_are_sent_to_who_accepts_them() {
    for (directives, hit) in [
        ("max-stale", true),
        ("max-stale=60", true),
        ("max-stale=10", false),
        ("max-stale, max-age=200", true),
    ] {
        let (_origin, larder) = stored("max-age=10");
        let answer = ask(&larder, directives);
        assert_eq!(
            answer.hit(),
            hit,
            "9111 section 5.2.1.2: {directives}: {}",
            answer.said()
        );
    }
}

#[test]
fn max_stale_does_not_set_aside_what_the_origin_forbids() {
    for directives in [
        "max-age=10, must-revalidate",
        "max-age=10, proxy-revalidate",
        "no-cache, max-age=10",
        "s-maxage=10",
    ] {
        let (_origin, larder) = stored(directives);
        let answer = ask(&larder, "max-stale");
        assert!(!answer.hit(), "9111 section 4.2.4: MUST NOT: {directives}");
        assert_eq!(answer.text(), "2");
    }
}

#[test]
fn only_if_cached_never_asks_the_origin() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    let answer = ask(&larder, "only-if-cached");
    assert_eq!(answer.status, 504, "9111 section 5.2.1.7");
    assert_eq!(origin.requests("/"), 0);
    let (origin, larder) = stored("max-age=10");
    assert_eq!(
        ask(&larder, "only-if-cached").status,
        504,
        "what is stored is stale"
    );
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn a_request_with_no_store_leaves_nothing_behind() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    let answer = ask(&larder, "no-store");
    assert!(!answer.says("stored"), "{}", answer.said());
    let after = larder.get("/").send();
    assert!(
        !after.hit(),
        "9111 section 5.2.1.5: MUST NOT store any response to it"
    );
}

#[test]
fn pragma_counts_only_without_cache_control() {
    let (_origin, larder) = stored("max-age=100");
    let alone = larder.get("/").header("Pragma", "no-cache").send();
    assert!(!alone.hit(), "9111 section 5.4");
    let (_origin, larder) = stored("max-age=100");
    let beside = larder
        .get("/")
        .header("Pragma", "no-cache")
        .header("Cache-Control", "max-age=50")
        .send();
    assert!(
        beside.hit(),
        "9111 section 5.4: ignored beside Cache-Control: {}",
        beside.said()
    );
}

#[test]
fn request_directives_are_passed_on() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store").body("x"));
    ask(&larder, "max-age=5, no-transform, foo");
    assert_eq!(
        origin.last("/").header("cache-control"),
        Some("max-age=5, no-transform, foo"),
        "9111 section 5.2"
    );
}

#[test]
fn an_immutable_response_is_spared_a_reload_but_not_a_forced_one() {
    let (_origin, larder) = stored("max-age=100, immutable");
    assert!(
        ask(&larder, "max-age=0").hit(),
        "8246 section 2: SHOULD NOT be validated while fresh"
    );
    assert!(
        !ask(&larder, "no-cache").hit(),
        "8246 section 2.1: no-cache is the client's signal"
    );
    let (_origin, larder) = stored("max-age=10, immutable");
    assert!(
        !larder.get("/").send().hit(),
        "8246 section 2: only during its lifetime"
    );
}

#[test]
fn malformed_request_directives_do_no_harm() {
    for directives in [
        "max-age=abc",
        "max-age",
        "min-fresh=-1",
        "=,;",
        "max-stale=abc",
        "\"",
        "no-cache=\"x",
    ] {
        let (_origin, larder) = stored("max-age=100");
        assert_eq!(ask(&larder, directives).status, 200, "{directives}");
        let (_origin, larder) = stored("max-age=10");
        assert!(
            !ask(&larder, directives).hit(),
            "what is stale is not sent for a directive that cannot be read: {directives}"
        );
    }
}

#[test]
fn only_if_cached_is_a_504_where_the_store_is_passed_by_too() {
    let (origin, larder) = crate::common::start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/never/*\"\ncache = false\n",
    );
    origin.otherwise(|_| Reply::ok().body("x"));
    for method in ["GET", "HEAD", "OPTIONS"] {
        let asked = larder.ask(method, "/never/a");
        let answer = asked.header("Cache-Control", "only-if-cached").send();
        assert_eq!(answer.status, 504, "9111 section 5.2.1.7: {method}");
    }
    assert_eq!(origin.requests("/never/a"), 0);
    let asked = larder.ask("POST", "/never/a");
    let answer = asked.header("Cache-Control", "only-if-cached").send();
    assert_eq!(answer.status, 200, "9111 section 4: MUST write through");
}
