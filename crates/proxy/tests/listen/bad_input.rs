//! What is refused, with the sentence that says so, and what is let through.

#![allow(clippy::too_many_lines, reason = "tables")]

use crate::site::{Site, quick};

/// Every row on a connection of its own: what is sent, the status, whether the connection must be closed afterwards.
fn check(rows: &[(&str, &str, u16, bool)]) {
    let site = Site::plain();
    for (why, request, status, closed) in rows {
        let mut client = site.client();
        client.send(request);
        let response = client.read();
        assert_eq!(response.status, *status, "{why}: {request:?}");
        if *closed {
            assert_eq!(client.read_to_end(), b"", "{why}: {request:?}");
        } else {
            client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(client.read().text(), "GET /next", "{why}: {request:?}");
        }
    }
}

#[test]
fn request_lines() {
    check(&[
        (
            "RFC 9112 3: method SP target SP version",
            "GET /\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3: no white space before",
            " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3: one space each",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3: no space within the target",
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 9.1: the method is a token",
            "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 2.3: the version's syntax",
            "GET / HTTP/1.1x\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 15.6.6: a major version we do not speak",
            "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
            505,
            true,
        ),
        (
            "RFC 9112 3.2.4: `*` only with OPTIONS",
            "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3.2.3: an authority only with CONNECT",
            "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3.2.4",
            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            200,
            false,
        ),
        (
            "RFC 9112 3.2.2: absolute form",
            "GET http://a/x HTTP/1.1\r\nHost: b\r\n\r\n",
            200,
            false,
        ),
        (
            "RFC 9112 2.2: an empty line before is ignored",
            "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            200,
            false,
        ),
        (
            "RFC 9110 9.1: an unknown method is not ours to refuse",
            "BREW / HTTP/1.1\r\nHost: a\r\n\r\n",
            200,
            false,
        ),
        (
            "RFC 9112 2.2: a bare CR is no line end",
            "GET / HTTP/1.1\rHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 2.2: a bare LF may be one, and is",
            "GET / HTTP/1.1\nHost: a\n\n",
            200,
            false,
        ),
    ]);
}

#[test]
fn fields() {
    check(&[
        (
            "RFC 9112 5: a colon",
            "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 5.1: no white space before the colon",
            "GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 5.1: the name is a token",
            "GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 5.1: a name",
            "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 5.5: NUL",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 5.5: CR",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9110 5.5: controls",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 5.2: obs-fold is refused",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 2.2: white space before the first field",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3.2: Host is there",
            "GET / HTTP/1.1\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 9112 3.2: Host is one",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            400,
            true,
        ),
        (
            "RFC 9112 3.2: Host is an authority",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 9112 3.2: Host has no user",
            "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 9112 3.2: Host has no path",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 9110 4.2.1: Host is not empty",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 9112 3.2: the port is a number",
            "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 3986 3.2.2",
            "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
            200,
            false,
        ),
        (
            "RFC 3986 3.2.2",
            "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
            400,
            false,
        ),
        (
            "RFC 9112 3.2: HTTP/1.0 needs no Host",
            "GET / HTTP/1.0\r\n\r\n",
            200,
            true,
        ),
        (
            "RFC 9110 5.5: obs-text is let through",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \u{e4}\r\n\r\n",
            200,
            false,
        ),
    ]);
}

#[test]
fn framing() {
    let head = |rest: &str| format!("POST /read HTTP/1.1\r\nHost: a\r\n{rest}");
    let rows = [
        (
            "6.3: both",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            true,
        ),
        (
            "6.3: both",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
            400,
            true,
        ),
        (
            "6.3: both, oddly cased",
            "transfer-encodinG: Chunked\r\ncontent-lengtH:3\r\n\r\n0\r\n\r\n",
            400,
            true,
        ),
        (
            "6.3: a length in the content is no field",
            "Transfer-Encoding: chunked\r\n\r\n12\r\nContent-Length: 3\n\r\n0\r\n\r\n",
            200,
            false,
        ),
        (
            "6.3: lengths that differ",
            "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            400,
            true,
        ),
        (
            "6.3: lengths that differ in one line",
            "Content-Length: 3, 4\r\n\r\nabc",
            400,
            true,
        ),
        (
            "6.3: equal lengths may be taken as one",
            "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
            200,
            false,
        ),
        (
            "6.2: a length is digits",
            "Content-Length: +3\r\n\r\nabc",
            400,
            true,
        ),
        (
            "6.2: a length is digits",
            "Content-Length: 0x3\r\n\r\nabc",
            400,
            true,
        ),
        (
            "6.2: a length we can count",
            "Content-Length: 99999999999999999999\r\n\r\nabc",
            400,
            true,
        ),
        (
            "6.1: unknown coding",
            "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            501,
            true,
        ),
        (
            "6.1: chunked once",
            "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            501,
            true,
        ),
        (
            "6.1: chunked once",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            501,
            true,
        ),
        (
            "6.3: chunked last",
            "Transfer-Encoding: gzip\r\n\r\n",
            400,
            true,
        ),
        (
            "6.3: chunked last",
            "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            400,
            true,
        ),
        (
            "7.1: chunk size",
            "Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n",
            400,
            true,
        ),
        (
            "7.1: chunk size is not empty",
            "Transfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n",
            400,
            true,
        ),
        (
            "7.1: chunk size we can count",
            "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            400,
            true,
        ),
        (
            "7.1: chunk data ends in CRLF",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n",
            400,
            true,
        ),
        (
            "7.1: chunk lines end in CRLF",
            "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
            400,
            true,
        ),
        (
            "7.1",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            200,
            false,
        ),
        (
            "7.1.1: extensions are ignored",
            "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
            200,
            false,
        ),
        (
            "7.1.2: trailers, whose end others see elsewhere",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
            200,
            true,
        ),
    ];
    let rows = rows.map(|(why, rest, status, closed)| (why, head(rest), status, closed));
    let rows: Vec<_> = rows
        .iter()
        .map(|(why, request, status, closed)| (*why, request.as_str(), *status, *closed))
        .collect();
    check(&rows);
    check(&[(
        "6.1: HTTP/1.0 has no transfer codings",
        "POST /read HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        true,
    )]);
}

#[test]
fn a_request_after_content_with_two_lengths_is_never_served() {
    let site = Site::plain();
    // However the head is cut into pieces, what follows the content must not be taken for a request.
    let smuggle = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut client = site.client();
    client.send_bytewise(smuggle);
    let said = String::from_utf8(client.read_to_end()).unwrap();
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    assert!(!said.contains("smuggled"), "{said}");
}

/// Each request is judged by its own head, whatever came in the same packet before it.
#[test]
fn lengths_are_looked_for_in_the_request_that_they_are_of() {
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
    const LENGTH: &str = "Content-Length: 0\r\n";
    let head =
        |method: &str, rest: &str| format!("{method} /read HTTP/1.1\r\nHost: a\r\n{rest}\r\n");
    let last = |rest: &str| head("POST", rest) + "0\r\n\r\n";
    let both = format!("{LENGTH}{CHUNKED}");
    for (first, second, status) in [
        (head("POST", LENGTH), last(CHUNKED), 200),
        (head("DELETE", ""), last(CHUNKED), 200),
        (last(CHUNKED), last(CHUNKED), 200),
        (head("POST", LENGTH), last(&both), 400),
        (head("DELETE", ""), last(&both), 400),
    ] {
        let site = Site::plain();
        let mut client = site.client();
        client.send(format!("{first}{second}"));
        assert_eq!(client.read().status, 200, "{first}");
        assert_eq!(client.read().status, status, "{first}{second}");
    }
}

#[test]
fn sizes() {
    let site = Site::with(quick(|limits| {
        limits.header_size = 10_000;
        limits.target = 2000;
        limits.headers = 20;
    }));
    let line = |name: &str, length: usize| format!("{name}: {}\r\n", "x".repeat(length));
    let with = |rest: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{rest}\r\n");
    let target = |length: usize| {
        format!(
            "GET /{} HTTP/1.1\r\nHost: a\r\n\r\n",
            "t".repeat(length - 1)
        )
    };
    for (what, request, status) in [
        ("a target as long as it may be", target(2000), 200),
        ("a target one longer", target(2001), 414),
        (
            "a target longer than a whole head may be",
            target(60_000),
            414,
        ),
        (
            "a target that never ends",
            "GET /".to_owned() + &"t".repeat(20_000),
            414,
        ),
        ("fields that fit", with(&line("x", 9000)), 200),
        ("a field too large", with(&line("x", 12_000)), 431),
        (
            "a field that never ends",
            "GET / HTTP/1.1\r\nHost: a\r\nX: ".to_owned() + &"x".repeat(20_000),
            431,
        ),
        (
            "as many fields as may be",
            with(&line("x", 1).repeat(19)),
            200,
        ),
        ("one more", with(&line("x", 1).repeat(20)), 431),
    ] {
        assert_eq!(site.ask(&request).status, status, "{what}");
    }
}

#[test]
fn our_own_answers_say_why() {
    let site = Site::plain();
    let response = site.ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    assert_eq!(
        response.header("cache-status"),
        Some("script; detail=host-repeated")
    );
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(response.text(), "Bad Request\n");
    site.wait_counted("the fault", |counters| counters.protocol_errors == 1);
}
