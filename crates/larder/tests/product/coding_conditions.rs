//! Conditions of clients where the answer goes out in another coding than the one in which it came.

use super::{
    coding::{page, text},
    coding_origin::gzipped,
};
use crate::common::{Said, start};
use testkit::Response;

const SINCE: &str = "Wed, 01 Oct 2025 10:00:00 GMT";

/// RFC 9110 sections 8.8.3.3, 13.1.2 and 15.4.5: a condition is about what a 200 would bring, and a 304 has the tag of
/// that. A cache before us takes the tag for the name of what it has: it sent gzip to clients that cannot read it.
#[test]
fn a_tag_of_what_the_client_would_not_get_confirms_nothing() {
    let (origin, larder) = start();
    let since = |reply: testkit::Reply| reply.header("Last-Modified", SINCE);
    let coded = page("").header("Content-Encoding", "gzip");
    origin.reply("/coded", since(coded.body(gzipped(&text("own", 9_000)))));
    let large = text("large", 100_000);
    origin.reply("/large", since(page(&large)));
    let unkept = since(page(&text("unkept", 9_000))).cache("no-store");
    origin.reply("/unkept", unkept);
    let ask = |target: &str, accepts: &str, condition: (&str, &str)| -> Response {
        larder
            .get(target)
            .header("Accept-Encoding", accepts)
            .header(condition.0, condition.1)
            .send()
    };
    let (tag, date) = (("If-None-Match", "\"v1\""), ("If-Modified-Since", SINCE));
    let decoded = "W/\"v1-larder-identity\"";
    larder
        .get("/coded")
        .header("Accept-Encoding", "gzip")
        .send();
    for (target, accepts, condition, status, expected) in [
        ("/coded", "gzip", tag, 304, "\"v1\""),
        ("/coded", "gzip", date, 304, "\"v1\""),
        ("/coded", "identity", tag, 200, decoded),
        (
            "/coded",
            "identity",
            ("If-None-Match", decoded),
            304,
            decoded,
        ),
        ("/coded", "identity", ("If-None-Match", "*"), 304, decoded),
        ("/coded", "identity", date, 304, decoded),
        ("/large", "identity", tag, 304, "\"v1\""),
        ("/large", "gzip", tag, 304, "\"v1\""),
        ("/unkept", "gzip", tag, 304, "\"v1\""),
        ("/unkept", "gzip", date, 304, "W/\"v1-larder-gzip\""),
        (
            "/unkept",
            "gzip, identity;q=0",
            tag,
            200,
            "W/\"v1-larder-gzip\"",
        ),
    ] {
        let answer = ask(target, accepts, condition);
        let found = (answer.status, answer.header("etag"));
        assert_eq!(
            found,
            (status, Some(expected)),
            "{target} {accepts} {condition:?}"
        );
    }
    // Of each form that is not there yet.
    for (target, accepts, condition, status) in [
        ("/large?1", "gzip", date, 304),
        ("/large?2", "gzip, identity;q=0", tag, 200),
    ] {
        origin.reply(target, since(page(&large)));
        larder.get(target).send();
        let answer = ask(target, accepts, condition);
        assert!(answer.hit(), "{target}");
        let found = (answer.status, answer.header("etag"));
        assert_eq!(found, (status, Some("W/\"v1-larder-gzip\"")), "{target}");
    }
}
