//! `If-Match` and `If-Unmodified-Since` of a `GET`, which the origin judges (RFC 9111 section 4.3.2): what its answer leaves in the
//! store.

use crate::common::{Said, dated, start, start_with};
use testkit::{Gate, Larder, Origin, Reply, Request, Response, date};

const CONTENT: &str = "0123456789";

fn ask(larder: &Larder, path: &str, fields: &[(&str, &str)]) -> Response {
    let ask = larder.get(path);
    let fields = fields.iter();
    fields
        .fold(ask, |ask, (name, value)| ask.header(name, dated(value)))
        .send()
}

/// Answers as RFC 9110 section 13.2.2 wants, for a representation with this tag. It is unmodified since any date.
fn judged(request: &Request, tag: &str) -> Reply {
    let names = |name| {
        let lines = request.header(name);
        lines.map(|line| line == "*" || line.split(", ").any(|one| one == tag))
    };
    let reply = if names("if-match") == Some(false) {
        Reply::status(412).cache("max-age=60")
    } else if names("if-none-match") == Some(true) {
        Reply::status(304).cache("max-age=60")
    } else if request.header("range") == Some("bytes=2-4") {
        let reply = Reply::status(206).header("Content-Range", "bytes 2-4/10");
        reply.cache("max-age=60").body(&CONTENT[2..=4])
    } else {
        Reply::ok().cache("max-age=60").body(CONTENT)
    };
    let reply = reply.header("Last-Modified", date(-1000));
    reply.header("ETag", tag)
}

fn always_judged() -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.otherwise(|request| judged(request, "\"a\""));
    (origin, larder)
}

/// The condition holds, so that the answer is the one to any other `GET`.
#[test]
fn an_answer_on_condition_fills_the_store() {
    let (origin, larder) = always_judged();
    for (number, condition) in [
        ("If-Match", "\"b\", \"a\""),
        ("If-Match", "*"),
        ("If-Unmodified-Since", "{-10}"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/whole/{number}");
        let first = ask(&larder, &path, &[condition]);
        assert_eq!((first.status, first.text().as_str()), (200, CONTENT));
        assert!(first.said().contains("stored"), "{}", first.said());
        let name = condition.0;
        assert!(origin.last(&path).header(name).is_some(), "{condition:?}");
        assert!(larder.get(&path).send().hit(), "{condition:?}");

        let path = format!("/part/{number}");
        let fields = [condition, ("Range", "bytes=2-4")];
        let first = ask(&larder, &path, &fields);
        assert_eq!((first.status, first.text().as_str()), (206, "234"));
        assert!(origin.last(&path).header(name).is_some(), "{condition:?}");
        let again = ask(&larder, &path, &fields[1..]);
        assert_eq!((again.status, again.hit()), (206, true), "{condition:?}");
    }
}

/// RFC 9110 section 13.2.2: the client's condition is evaluated first, then whether what is stored is current.
#[test]
fn what_is_stored_is_validated_beside_the_condition() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => judged(request, "\"a\"").header("Age", "70"),
        _ => judged(request, "\"a\""),
    });
    larder.get("/").send();
    let failing = ask(&larder, "/", &[("If-Match", "\"b\"")]);
    assert_eq!((failing.status, failing.text().as_str()), (412, ""));
    let met = ask(&larder, "/", &[("If-Match", "\"a\"")]);
    assert_eq!((met.status, met.text().as_str()), (200, CONTENT));
    assert_eq!(met.parameter("fwd-status").as_deref(), Some("304"));
    let asked = origin.last("/");
    let conditions = (asked.header("if-match"), asked.header("if-none-match"));
    assert_eq!(conditions, (Some("\"a\""), Some("\"a\"")));
    assert!(larder.get("/").send().hit());
}

/// The client knows of a newer representation than the store does.
#[test]
fn the_newer_answer_that_a_client_means_replaces_the_stored_one() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => judged(request, "\"a\""),
        _ => judged(request, "\"b\""),
    });
    larder.get("/").send();
    let newer = ask(&larder, "/", &[("If-Match", "\"b\"")]);
    assert_eq!(newer.status, 200);
    assert_eq!(newer.parameter("fwd").as_deref(), Some("request"));
    let others = larder.get("/").send();
    assert_eq!((others.header("etag"), others.hit()), (Some("\"b\""), true));
}

/// An origin may ignore the condition (RFC 9110 section 13.1.1), and then answers as if there were none.
#[test]
fn an_origin_that_ignores_the_condition_is_believed() {
    let (origin, larder) = start();
    let page = || Reply::ok().cache("max-age=60").header("ETag", "\"a\"");
    origin.on("/", move |request| match request.header("if-none-match") {
        Some("\"a\"") => Reply::status(304).header("ETag", "\"a\""),
        _ => page().body(CONTENT),
    });
    for status in [None, Some("304")] {
        let answer = ask(&larder, "/", &[("If-Match", "\"b\"")]);
        assert_eq!((answer.status, answer.text().as_str()), (200, CONTENT));
        assert_eq!(answer.parameter("fwd-status").as_deref(), status);
    }
    assert!(larder.get("/").send().hit());
}

/// An error may be about the condition, which is no part of the key. What is not there, or no longer, is so for all (RFC 9110 section
/// 13.2.1).
#[test]
fn an_error_on_condition_is_for_its_client_alone() {
    let (origin, larder) = start();
    for (status, is_stored) in [
        (400, false),
        (403, false),
        (404, true),
        (410, true),
        (412, false),
        (501, false),
    ] {
        let path = format!("/{status}");
        origin.on(&path, move |request| match request.header("if-match") {
            Some(_) => Reply::status(status).cache("max-age=60"),
            None => Reply::ok().cache("max-age=60").body(CONTENT),
        });
        let first = ask(&larder, &path, &[("If-Match", "\"a\"")]);
        assert_eq!(first.status, status);
        let detail = (!is_stored).then_some("condition-error");
        assert_eq!(first.parameter("detail").as_deref(), detail, "{status}");
        let others = larder.get(&path).send();
        assert_eq!(others.hit(), is_stored, "{status}: {}", others.said());
        assert_eq!(others.status == 200, !is_stored, "{status}");
    }
}

/// Whoever comes meanwhile is not answered by what is only for another's condition.
#[test]
fn nobody_waits_for_an_answer_on_condition() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.header("if-match") {
        Some(_) => judged(request, "\"a\"").hold_head(&held),
        None => judged(request, "\"a\""),
    });
    let conditional = larder.get("/").header("If-Match", "\"b\"");
    let mut conditional = conditional.begin();
    gate.wait_reached();
    let other = larder.get("/").send();
    assert_eq!((other.status, other.hit()), (200, false));
    gate.open();
    assert_eq!(conditional.read().status, 412);
    assert!(larder.get("/").send().hit());
}

/// A refresh is for all.
#[test]
fn a_refresh_goes_without_its_clients_condition() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => {
            let reply = Reply::ok().cache("max-age=60, stale-while-revalidate=100");
            let reply = reply.header("Age", "70").header("ETag", "\"a\"");
            reply.body("old")
        }
        _ => judged(request, "\"b\""),
    });
    larder.get("/").send();
    let stale = ask(&larder, "/", &[("If-Match", "\"a\"")]);
    assert_eq!((stale.status, stale.hit()), (200, true));
    origin.wait_requests("/", 2);
    let asked = origin.last("/");
    assert_eq!(asked.header("if-match"), None);
    assert_eq!(asked.header("if-none-match"), Some("\"a\""));
}

/// With the whole of their cookies, or for nobody: as it came.
#[test]
fn a_request_that_must_not_fill_the_store_does_not() {
    let config =
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbypass = { misses_with = \"session\" }";
    let (origin, larder) = start_with(config);
    origin.otherwise(|request| judged(request, "\"a\""));
    for field in [("Cookie", "session=1"), ("Cache-Control", "no-store")] {
        let answer = ask(&larder, "/", &[field, ("If-Match", "\"a\"")]);
        assert_eq!((answer.status, answer.text().as_str()), (200, CONTENT));
        assert_eq!(origin.last("/").header("if-match"), Some("\"a\""));
    }
    assert!(!larder.get("/").send().hit());
}
