//! Clients that send what they should not.

use crate::{
    common::{Said, damaged, next, sample, start},
    frames::is_bad_request,
};
use testkit::{Larder, Origin, Reply};

fn start_counting() -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.otherwise(|request| Reply::ok().cache("no-store").body(request.target.clone()));
    (origin, larder)
}

/// Sends these bytes on a connection of their own, and gives the status; `None` if it was closed without.
fn status(larder: &Larder, bytes: &[u8]) -> Option<u16> {
    let mut client = larder.client();
    client.send(bytes);
    client.try_read_head().map(|head| head.status)
}

#[test]
fn malformed_requests_are_refused_and_never_forwarded() {
    let (origin, larder) = start_counting();
    let mut wrong = Vec::new();
    for (sentence, bytes) in [
        ("9112 3: no request line", "garbage\r\n\r\n"),
        (
            "9112 3: a control byte in the target",
            "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        (
            "9112 3: white space in the target",
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        (
            "9112 3: not a token as method",
            "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        (
            "9112 2.3: no such version",
            "GET / HTTP/9.1\r\nHost: a\r\n\r\n",
        ),
        (
            "9112 2.3: not a version",
            "GET / FTP/1.1\r\nHost: a\r\n\r\n",
        ),
        ("9112 3.2: MUST have Host", "GET / HTTP/1.1\r\n\r\n"),
        (
            "9112 3.2: more than one Host",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ),
        (
            "9112 3.2: an invalid Host",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        ),
        (
            "9112 3.2: an invalid Host",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        ),
        (
            "9112 3.2: an invalid Host",
            "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
        ),
        (
            "9112 5.1: white space before the colon",
            "GET / HTTP/1.1\r\nHost: a\r\nX-Y : 1\r\n\r\n",
        ),
        (
            "9112 5: no colon",
            "GET / HTTP/1.1\r\nHost: a\r\nXY\r\n\r\n",
        ),
        (
            "9112 2.2: white space before the first field",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        ),
        (
            "9110 5.5: NUL in a value",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        ),
        (
            "9112 2.2: bare CR in a value",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
        ),
        (
            "9110 5.1: not a token as name",
            "GET / HTTP/1.1\r\nHost: a\r\nX(Y): 1\r\n\r\n",
        ),
        (
            "9112 6.3: different lengths",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        ),
        (
            "9112 6.3: different lengths",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 4\r\n\r\nabcd",
        ),
        (
            "9110 8.6: not a length",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
        ),
        (
            "9110 8.6: not a length",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc",
        ),
        (
            "9110 8.6: not a length",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc",
        ),
        (
            "9110 8.6: a length that overflows",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
        ),
        (
            "9112 6.3: chunked is not last",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        ),
        (
            "9112 6.1: unknown coding",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        ),
        (
            "9112 7.1: not a chunk size",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
        ),
        (
            "9112 7.1: a chunk size that overflows",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab",
        ),
        (
            "9112 3.2.4: asterisk only for OPTIONS",
            "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
    ] {
        match status(&larder, bytes.as_bytes()) {
            Some(400 | 501 | 505) => (),
            other => wrong.push(format!("{other:?}: {sentence}: {bytes:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let complete: Vec<_> = origin
        .all()
        .into_iter()
        .map(|request| request.head)
        .collect();
    assert!(complete.is_empty(), "{complete:?}");
    assert_eq!(larder.get("/still-alive").send().status, 200);
}

#[test]
fn a_malformed_request_gets_400() {
    let (_origin, larder) = start_counting();
    for bytes in [
        "garbage\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
    ] {
        assert_eq!(status(&larder, bytes.as_bytes()), Some(400), "{bytes:?}");
    }
}

#[test]
fn both_lengths_at_once_smuggle_nothing() {
    let (origin, larder) = start_counting();
    for bytes in [
        "POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /first HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let mut client = larder.client();
        client.send(bytes);
        assert_eq!(client.read_head().status, 400, "{bytes:?}");
        client.read_to_end();
        assert_eq!(
            origin.requests("/smuggled"),
            0,
            "9112 section 6.3: MUST close after it: {bytes:?}"
        );
        for request in origin.recorded("/first") {
            let both = request.header("content-length").is_some()
                && request.header("transfer-encoding").is_some();
            assert!(!both, "9112 section 6.3: MUST remove Content-Length");
        }
    }
}

#[test]
fn a_bare_line_feed_ends_a_line_and_a_folded_line_is_refused() {
    let (origin, larder) = start_counting();
    let bare = status(&larder, b"GET /bare HTTP/1.1\nHost: a\nX: 1\n\n");
    assert_eq!(bare, Some(200), "9112 section 2.2: MAY");
    assert_eq!(origin.last("/bare").header("x"), Some("1"));
    let folded = status(
        &larder,
        b"GET /folded HTTP/1.1\r\nHost: a\r\nX: 1\r\n two\r\n\r\n",
    );
    assert_eq!(folded, Some(400), "9112 section 5.2: MUST reject or mend");
    assert_eq!(origin.requests("/folded"), 0);
}

#[test]
fn a_header_section_that_is_too_large_gets_431() {
    let (origin, larder) = start_counting();
    let one = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    assert_eq!(status(&larder, one.as_bytes()), Some(431));
    let many = format!(
        "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
        "X: y\r\n".repeat(20_000)
    );
    assert_eq!(status(&larder, many.as_bytes()), Some(431));
    assert!(origin.all().is_empty());
}

#[test]
fn a_target_that_is_too_long_gets_414() {
    let (origin, larder) = start_counting();
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(200_000));
    assert_eq!(status(&larder, long.as_bytes()), Some(414));
    assert!(origin.all().is_empty());
}

#[test]
fn a_request_that_comes_byte_by_byte_is_understood() {
    let (_origin, larder) = start_counting();
    let mut client = larder.client();
    client.send_bytewise("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(client.read().text(), "/slow");
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let (_origin, larder) = start_counting();
    let mut client = larder.client();
    for number in 0..10 {
        client.send(format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    for number in 0..10 {
        assert_eq!(client.read().text(), format!("/{number}"));
    }
}

#[test]
fn an_absolute_target_goes_before_host() {
    let (origin, larder) = start_counting();
    let answer = {
        let mut client = larder.client();
        client.send("GET http://a.test/page?x HTTP/1.1\r\nHost: b.test\r\n\r\n");
        client.read()
    };
    assert_eq!(answer.status, 200);
    let asked = origin.last("/page");
    assert_eq!(
        (asked.target.as_str(), asked.headers("host")),
        ("/page?x", vec!["a.test"]),
        "9112 section 3.2.2"
    );
}

#[test]
fn an_absolute_target_without_a_path_is_for_the_root() {
    let (origin, larder) = start_counting();
    for method in ["GET", "DELETE"] {
        let mut client = larder.client();
        let request = format!("{method} http://a.test?x HTTP/1.1\r\nHost: a.test\r\n\r\n");
        client.send(request);
        assert_eq!(client.read().status, 200, "{method}");
        let asked = origin.last("/");
        assert_eq!(
            (asked.method.as_str(), asked.target.as_str()),
            (method, "/?x"),
            "9112 section 3.2.1"
        );
    }
}

/// RFC 9110 section 2.5: the minor version says what else its sender would understand.
#[test]
fn a_later_http_1_is_served_as_1_1() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let text = [
            &*request.target,
            " ",
            &String::from_utf8_lossy(&request.body),
        ]
        .concat();
        Reply::ok().cache("max-age=60").body(text)
    });
    let mut client = larder.client();
    for version in ["1.2", "1.9"] {
        for (line, fields, text) in [
            ("GET /a", "", "/a "),
            ("GET /a", "", "/a "),
            ("POST /b", "Content-Length: 3\r\n\r\nabc", "/b abc"),
            (
                "PUT /c",
                "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                "/c abc",
            ),
            ("DELETE /d", "", "/d "),
            ("GET /a", "", "/a "),
        ] {
            let head = format!("{line} HTTP/{version}\r\nHost: a\r\n");
            let end = if fields.is_empty() { "\r\n" } else { fields };
            client.send_bytewise([&*head, end].concat());
            let answer = client.read();
            assert_eq!((answer.status, &*answer.text()), (200, text), "{head}");
            assert!(answer.start.starts_with("HTTP/1.1 "), "{}", answer.start);
        }
    }
    assert_eq!(origin.requests("/a"), 1);
    assert!(origin.last("/c").head.start.ends_with(" HTTP/1.1"));
    // What is sent ahead is served all the same.
    client.send("GET /e HTTP/1.2\r\nHost: a\r\n\r\n".repeat(3));
    for _ in 0..3 {
        assert_eq!(client.read().text(), "/e ");
    }
    // However it is cut.
    client.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcPOST /f HTTP/1");
    assert_eq!(client.read().text(), "/b abc");
    client.send(".2\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(client.read().text(), "/f abc");
    for (bytes, refused) in [
        ("GET /a HTTP/1.2\r\n\r\n", 400),
        ("GET /a HTTP/1.22\r\nHost: a\r\n\r\n", 400),
        ("GET /a HTTP/1.\r\nHost: a\r\n\r\n", 400),
        ("POST /a HTTP/1.22\r\nHost: a\r\n\r\n", 400),
    ] {
        assert_eq!(
            status(&larder, bytes.as_bytes()),
            Some(refused),
            "{bytes:?}"
        );
    }
}

/// A later HTTP/1, and a target that a URI may contain only encoded, are understood wherever they come.
#[test]
fn what_is_sent_ahead_behind_content_is_read_like_what_comes_first() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        Reply::ok()
            .cache("no-store")
            .body(request.target.as_bytes())
    });
    let content = "GET /stolen HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = format!("Content-Length: {}\r\n\r\n{content}", content.len());
    for (line, rest) in [
        ("POST /a", &*length),
        ("GET /a", &*length),
        ("POST /a", "Content-Length: 0\r\n\r\n"),
        ("DELETE /a", "\r\n"),
        ("GET /a", "Connection: x-a\r\nX-A: 1\r\n\r\n"),
    ] {
        let first = format!("{line} HTTP/1.1\r\nHost: a\r\n{rest}");
        let others = "GET /b HTTP/1.2\r\nHost: a\r\n\r\nGET /<\"> HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut client = larder.client();
        client.send([&*first, others, &*first, others].concat());
        for target in ["/a", "/b", "/%3C%22%3E"].repeat(2) {
            let answer = client.read();
            assert_eq!((answer.status, &*answer.text()), (200, target), "{first}");
        }
    }
    assert_eq!(origin.requests("/stolen"), 0);
}

#[test]
fn an_http_1_0_request_needs_no_host() {
    let (_origin, larder) = start_counting();
    assert_eq!(status(&larder, b"GET / HTTP/1.0\r\n\r\n"), Some(200));
}

#[test]
fn options_with_an_asterisk_is_answered() {
    let (_origin, larder) = start_counting();
    let answer = status(&larder, b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(
        answer.is_some_and(|status| status < 500),
        "9110 section 9.3.7: {answer:?}"
    );
}

/// What has no path is asked of the server as a whole, however its client knows us.
#[test]
fn options_without_a_path_is_for_the_server() {
    let (origin, larder) = start_counting();
    for (target, sent) in [
        ("*", "*"),
        ("http://a.test", "*"),
        ("HTTP://a.test:80", "*"),
        ("http://a.test/", "/"),
        ("http://a.test?", "/?"),
        ("http://a.test?x", "/?x"),
        ("http://a.test/*", "/*"),
        ("/", "/"),
    ] {
        let mut client = larder.client();
        // Nobody has seen where the second begins.
        client.send(format!(
            "POST /content HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc\
             OPTIONS {target} HTTP/1.1\r\nHost: a.test\r\n\r\n"
        ));
        assert_eq!(client.read().text(), "/content");
        let answer = client.read();
        assert_eq!(
            (answer.status, answer.text()),
            (200, sent.into()),
            "{target}"
        );
        let asked = origin.last(sent.trim_end_matches("?x").trim_end_matches('?'));
        assert_eq!(
            (asked.method.as_str(), asked.headers("host")),
            ("OPTIONS", vec!["a.test"]),
            "9112 section 3.2.4: {target}"
        );
    }
    let over_http2 = [
        (":method", "OPTIONS"),
        (":scheme", "http"),
        (":authority", "b.test"),
        (":path", "*"),
    ];
    assert!(!is_bad_request(&larder, &over_http2));
    let asked = origin.last("*");
    assert_eq!(asked.headers("host"), ["b.test"], "9113 section 8.3.1");
    for target in ["http://a.test", "http://a.test/"] {
        let answer = status(
            &larder,
            format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n").as_bytes(),
        );
        assert_eq!(answer, Some(200));
        assert_eq!(origin.last("/").method, "GET", "9112 section 3.2.1");
    }
}

#[test]
fn a_client_that_breaks_off_its_content_harms_nobody() {
    let (origin, larder) = start_counting();
    for bytes in [
        "POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
        "POST /half HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let mut client = larder.client();
        client.send(bytes);
        client.end();
        if let Some(answer) = client.try_read_head() {
            assert!(answer.status >= 400, "{}", answer.status);
        }
        drop(client);
        assert_eq!(larder.get("/other").send().text(), "/other");
    }
    assert_eq!(
        origin.requests("/half"),
        0,
        "9112 section 8: an incomplete message is not passed off as complete"
    );
}

#[test]
fn an_error_of_our_own_says_who_made_it() {
    let (_origin, larder) = start_counting();
    let mut client = larder.client();
    client.send("GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
    let answer = client.read();
    assert_eq!(answer.status, 400);
    assert!(
        !answer.said().contains("hit") && !answer.said().contains("fwd="),
        "9211 section 2: {}",
        answer.said()
    );
}

#[test]
fn content_whose_framing_never_ends_is_refused() {
    let (origin, larder) = start_counting();
    for (what, endless) in [
        ("9112 7.1.1: a chunk extension", "4;zzzzzzzzzzzzzz"),
        ("9112 7.1.2: trailers", "0\r\nX-Y: zzzzzzzzzzzz"),
    ] {
        let mut client = larder.client();
        client.send("POST /endless HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        client.send(endless);
        client.send(
            endless
                .chars()
                .last()
                .expect("one")
                .to_string()
                .repeat(1 << 20),
        );
        assert_eq!(client.read_head().status, 400, "{what}");
    }
    assert_eq!(origin.requests("/endless"), 0);
}

#[test]
fn a_fragment_is_refused_or_dropped() {
    let (origin, larder) = start_counting();
    let answer = status(&larder, b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(
        matches!(answer, Some(200 | 400)),
        "9110 section 7.1: {answer:?}"
    );
    assert!(origin.all().iter().all(|request| request.target == "/a"));
}

#[test]
fn a_client_that_ends_its_side_after_its_request_is_answered() {
    let (_origin, larder) = start_counting();
    let mut client = larder.client();
    client.send("GET /page HTTP/1.1\r\nHost: a\r\n\r\n");
    client.end();
    assert_eq!(
        client.read().text(),
        "/page",
        "9112 section 9.6: half a close is a close of one side only"
    );
}

#[test]
fn damaged_requests_harm_nobody() {
    let (origin, larder) = start_counting();
    let messages: [&[u8]; 4] = [
        b"GET /a?b=c HTTP/1.1\r\nHost: a.test\r\nCache-Control: max-age=0, only-if-cached\r\nRange: bytes=0-1,2-\r\nIf-None-Match: \"a\", W/\"b\"\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nabcde",
        b"POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nX: y\r\n\r\n",
        b"GET http://a.test/%41%zz HTTP/1.0\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nCookie: a=b; c\r\nVia: 1.1 x\r\n\r\n",
    ];
    let mut number = 1;
    for round in 0..400 {
        let message = messages[next(&mut number) as usize % messages.len()];
        let mut client = larder.client();
        client.send(damaged(message, &mut number));
        client.end();
        client.read_to_end();
        if round % 50 == 0 {
            assert_eq!(larder.get("/alive").send().text(), "/alive");
        }
    }
    assert_eq!(sample(&larder, "larder_panics_total"), 0);
    for request in origin.all() {
        let both = request.header("content-length").is_some()
            && request.header("transfer-encoding").is_some();
        assert!(
            !both && request.headers("host").len() == 1 && request.target.starts_with(['/', '*']),
            "{:?}",
            request.head
        );
    }
}
