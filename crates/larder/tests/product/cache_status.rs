//! `Cache-Status` (RFC 9211): every answer says where it came from.

use crate::common::{Said, counted, start};
use testkit::Reply;

#[test]
fn a_miss_and_a_hit_say_what_they_are() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    let miss = larder.get("/").send();
    assert_eq!(
        miss.parameter("fwd").as_deref(),
        Some("uri-miss"),
        "9211 section 2.2: {}",
        miss.said()
    );
    assert!(miss.says("stored"), "9211 section 2.5: {}", miss.said());
    assert!(!miss.says("hit") && !miss.says("collapsed"));
    let hit = larder.get("/").send();
    assert!(
        hit.says("hit") && !hit.says("fwd") && !hit.says("stored"),
        "9211 section 2: {}",
        hit.said()
    );
    let ttl: i64 = hit
        .parameter("ttl")
        .expect("a ttl")
        .parse()
        .expect("a number");
    let age: i64 = hit.header("age").expect("an age").parse().expect("seconds");
    assert_eq!(
        ttl + age,
        60,
        "9211 section 2.5: what is left of the lifetime"
    );
}

#[test]
fn the_status_of_the_forwarded_request_is_told_where_it_differs() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60")
            .header("Age", "100")
            .header("ETag", "\"a\"")
            .body("x"),
        _ => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\""),
    });
    larder.get("/").send();
    let validated = larder.get("/").send();
    assert_eq!(validated.parameter("fwd").as_deref(), Some("stale"));
    assert_eq!(
        validated.parameter("fwd-status").as_deref(),
        Some("304"),
        "9211 section 2.3: {}",
        validated.said()
    );
}

#[test]
fn never_hit_and_fwd_at_once() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        counted(request)
            .cache("max-age=60, stale-while-revalidate=600")
            .header("Age", "70")
    });
    origin.on("/no", |request| counted(request).cache("no-store"));
    for _ in 0..3 {
        for path in ["/", "/no"] {
            for ask in [
                larder.get(path),
                larder.get(path).header("Cache-Control", "no-cache"),
                larder.ask("POST", path),
                larder.ask("HEAD", path),
            ] {
                let answer = ask.send();
                assert!(
                    answer.says("hit") != answer.says("fwd"),
                    "9211 section 2: {}",
                    answer.said()
                );
            }
        }
    }
}

#[test]
fn the_origins_own_member_stays_in_front() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("Cache-Status", "inner; hit; ttl=5")
            .body("x"),
    );
    for _ in 0..2 {
        let members = larder.get("/").send().joined("cache-status");
        assert!(
            members.starts_with("inner; hit; ttl=5, larder;"),
            "9211 section 2: appended: {members}"
        );
        assert_eq!(members.matches("larder").count(), 1, "{members}");
    }
}

#[test]
fn a_client_does_not_write_our_status() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("x"));
    let answer = larder.get("/").header("Cache-Status", "larder; hit").send();
    assert!(!answer.hit() && answer.headers("cache-status").len() == 1);
}

#[test]
fn a_request_is_the_reason_only_where_what_is_stored_is_fresh() {
    let (origin, larder) = start();
    origin.on("/fresh", |request| counted(request).cache("max-age=60"));
    origin.on("/stale", |request| {
        counted(request).cache("max-age=60").header("Age", "70")
    });
    for (path, why) in [("/fresh", "request"), ("/stale", "stale")] {
        larder.get(path).send();
        let forced = larder.get(path).header("Cache-Control", "no-cache").send();
        assert_eq!(
            (
                forced.parameter("fwd").as_deref(),
                forced.parameter("detail").as_deref()
            ),
            (Some(why), Some("request-no-cache")),
            "9211 section 2.2: {path}"
        );
    }
}
