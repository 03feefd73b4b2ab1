//! FastCGI servers that are late, or never come to an end: 504, and nothing half stored.

use crate::{
    common::Said,
    fastcgi_bad::{page, serve},
};
use testkit::{
    FastCgi, Gate,
    fastcgi::{Next, kind, record},
};

/// One limit is short and the other is not, so that each ends what it is meant to end.
const FIRST_BYTE: &str =
    "retry.attempts = 0\npassive.failures = 0\ntimeouts.first_byte = \"100ms\"";
const BETWEEN_BYTES: &str =
    "retry.attempts = 0\npassive.failures = 0\ntimeouts.between_bytes = \"100ms\"";

#[test]
fn limits_of_time_hold() {
    let gate = Gate::new();
    let held = gate.clone();
    let server = FastCgi::start(move |call, line| {
        match call.params["REQUEST_URI"].as_str() {
            "/head" => line.send(record(kind::ERR, "still here")),
            "/body" => line.send(page("half")),
            other => panic!("{other}"),
        }
        held.pass();
        Next::Close
    });
    let larder = serve(&server, FIRST_BYTE);
    let answer = larder.get("/head").send();
    assert_eq!(answer.status, 504);
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("first-byte-timeout")
    );
    let larder = serve(&server, BETWEEN_BYTES);
    let answer = larder.get("/body").send();
    assert!(!answer.complete && answer.text() == "half", "{answer:?}");
    let answer = larder.get("/body").send();
    assert!(!answer.hit() && !answer.complete);
    gate.open();
}

#[test]
fn the_whole_has_a_limit_too() {
    let gate = Gate::new();
    let held = gate.clone();
    let server = FastCgi::start(move |call, line| {
        if call.params["REQUEST_URI"] == "/head" {
            held.pass();
            return Next::Close;
        }
        line.send(page("drip"));
        // Until the connection is closed; no two pieces are far apart.
        while line.try_send(record(kind::OUT, "drip")) {}
        Next::Close
    });
    let larder = serve(
        &server,
        "retry.attempts = 0\npassive.failures = 0\ntimeouts.whole = \"100ms\"",
    );
    let answer = larder.get("/head").send();
    assert_eq!(answer.status, 504);
    assert_eq!(answer.parameter("detail").as_deref(), Some("whole-timeout"));
    gate.open();
    for _ in 0..2 {
        let answer = larder.get("/drip").send();
        assert!(!answer.hit() && !answer.complete || answer.status == 504);
    }
    let stored = larder.get("/drip");
    let stored = stored.header("Cache-Control", "only-if-cached").send();
    assert!(!stored.hit(), "nothing of it was stored: {}", stored.said());
}

#[test]
fn complaints_without_end_hold_nobody() {
    let server = FastCgi::start(|call, line| {
        if call.params["REQUEST_URI"] == "/body" {
            line.send(page("half"));
        }
        // Until the connection is closed.
        while line.try_send(record(kind::ERR, "oh no\n")) {}
        Next::Close
    });
    let larder = serve(&server, BETWEEN_BYTES);
    let answer = larder.get("/body").send();
    assert!(!answer.complete && answer.text() == "half", "{answer:?}");
    let larder = serve(&server, FIRST_BYTE);
    assert_eq!(larder.get("/head").send().status, 504);
}
