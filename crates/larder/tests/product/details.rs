//! Each fault is told by its own word (`detail` in `Cache-Status`, RFC 9211 section 2.8) and with its own status, as
//! docs/answers.md has them.

use super::frames::is_bad_request;
use crate::common::{Said, reload_as, start_with};
use testkit::{Command, Gate, Larder, Origin, Reply, wait_until};

/// What a client gets that sends these bytes on a connection of its own.
fn told(larder: &Larder, bytes: impl AsRef<[u8]>) -> (u16, String) {
    let mut client = larder.client();
    client.send(bytes);
    let answer = client.read_head();
    (
        answer.status,
        answer.parameter("detail").unwrap_or_default(),
    )
}

#[test]
fn what_is_wrong_with_a_request() {
    let (origin, larder) = start_with(
        "[limits]\ntarget_length = \"1KiB\"\nheader_count = 20\nrequest_body = \"10B\"\n\
         [[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/no\"\nrefuse = \"410\"\n",
    );
    let (many, long) = ("X: 1\r\n".repeat(30), "x".repeat(40_000));
    let loops = ["1.1 larder"; 8].join(", ");
    for (bytes, status, detail) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400, "host-missing"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".to_owned(), 400, "host-repeated"),
        ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n".to_owned(), 400, "host-invalid"),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400, "target-form"),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400, "target-form"),
        ("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 421, "misdirected"),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(2000)), 414, "target-too-long"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n".to_owned(), 505, "foreign-version"),
        ("GET / HTTP/0.9\r\nHost: a\r\n\r\n".to_owned(), 505, "foreign-version"),
        ("POST / HTTP/3.0\r\nHost: a\r\nContent-Length: 0\r\n\r\n".to_owned(), 505, "foreign-version"),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431, "too-many-fields"),
        (format!("POST / HTTP/1.1\r\nHost: a\r\n{many}Content-Length: 0\r\n\r\n"), 431, "too-many-fields"),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431, "head-too-large"),
        (format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX: {long}\r\n\r\n"), 431, "head-too-large"),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}"), 431, "head-too-large"),
        ("GET /no HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 410, "denied"),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n".to_owned(), 405, "method-not-allowed"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nCache-Control: only-if-cached\r\n\r\n".to_owned(),
            504,
            "only-if-cached",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            400,
            "two-lengths",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n".to_owned(),
            501,
            "transfer-coding",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n12345678901".to_owned(),
            413,
            "request-body-too-large",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n".to_owned(),
            413,
            "request-body-too-large",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(),
            400,
            "request-body",
        ),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nVia: {loops}\r\n\r\n"), 508, "loop"),
    ] {
        assert_eq!(told(&larder, &bytes), (status, detail.to_owned()), "{bytes}");
    }
    assert!(origin.all().is_empty());
    // Nor is anybody told that somebody was asked.
    let figures = larder.admin_get("/metrics").send().text();
    let asked = [
        "larder_forwarded_total{",
        "larder_origin_latency_seconds_count{",
    ];
    let mut figures = figures.lines();
    assert!(
        figures
            .all(|line| !asked.iter().any(|name| line.starts_with(name)) || line.ends_with(" 0"))
    );
}

/// Nobody is asked for these answers, and they say as much of themselves as any other.
#[test]
fn what_the_site_has_told_is_told_of_refusals_too() {
    let config = "[report]\ncache_status = false\nx_cache = \"X-Cache-Status\"\nnode = \"edge-1\"\n\
         [[origin]]\nservers = \"{origin}\"\n\
         [limits]\ntarget_length = \"1KiB\"\n";
    let (origin, larder) = start_with(config);
    let is_told = |bytes: &str, status| {
        let mut client = larder.client();
        client.send(bytes);
        let answer = client.read_head();
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("x-cache-status"), Some("NONE"), "{status}");
        assert_eq!(answer.header("cache-id"), Some("edge-1"), "{status}");
        assert_eq!(answer.header("cache-status"), None, "{status}");
    };
    for (bytes, status) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        (
            format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(2000)),
            414,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
                .to_owned(),
            501,
        ),
    ] {
        is_told(&bytes, status);
    }
    // What comes at once has all the time it needs; this does not come in time.
    let hasty = config.replace("{origin}", &origin.url()) + "header_time = \"1s\"\n";
    reload_as(&larder, &hasty, "2");
    is_told("GET / HTTP/1.1\r\nHost: a\r\nX: ", 408);
}

#[test]
fn what_is_wrong_with_a_request_over_http_2() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    for fields in [
        &[(":authority", "a"), (":path", "/"), ("host", "b")][..],
        &[(":authority", "a"), (":path", "/"), ("x", " padded")],
        &[(":path", "/")],
    ] {
        let all = [&[(":method", "GET"), (":scheme", "http")][..], fields].concat();
        assert!(is_bad_request(&larder, &all), "{fields:?}");
    }
    assert!(origin.all().is_empty());
}

#[test]
fn what_is_wrong_with_an_answer() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\npassive.failures = 0\nheader_size = \"8KiB\"\n",
    );
    let endless =
        Reply::raw("HTTP/1.1 200 OK\r\n").endless("X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n");
    for (path, reply, status, detail) in [
        ("/garbage", Reply::raw("garbage\r\n\r\n"), 502, "malformed"),
        (
            "/two",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            502,
            "malformed",
        ),
        ("/closed", Reply::close(), 502, "truncated"),
        (
            "/half",
            Reply::raw("HTTP/1.1 200 OK\r\nX: y"),
            502,
            "truncated",
        ),
        ("/large", endless, 502, "head-too-large"),
        (
            "/switches",
            Reply::raw(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            ),
            502,
            "unasked-switch",
        ),
        (
            "/confirms",
            Reply::status(304).header("ETag", "\"x\""),
            502,
            "unasked",
        ),
        (
            "/part",
            Reply::status(206)
                .header("Content-Range", "bytes 0-1/9")
                .body("ab"),
            502,
            "unasked",
        ),
    ] {
        origin.reply(path, reply);
        let answer = larder.get(path).send();
        assert_eq!(
            (answer.status, answer.parameter("detail").as_deref()),
            (status, Some(detail)),
            "{path}"
        );
    }

    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\ntimeouts.first_byte = \"50ms\"\n",
    );
    origin.reply("/hangs", Reply::ok().hang());
    let answer = larder.get("/hangs").send();
    assert_eq!(
        (answer.status, answer.parameter("detail").as_deref()),
        (504, Some("first-byte-timeout"))
    );
}

#[test]
fn why_nobody_was_asked() {
    let nobody = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .args(["http://origin.invalid:81"])
        .start();
    let answer = nobody.get("/").send();
    assert_eq!(
        (answer.status, answer.parameter("detail").as_deref()),
        (502, Some("unresolvable"))
    );

    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    origin.stop();
    let answer = larder.get("/").send();
    assert_eq!(
        (answer.status, answer.parameter("detail").as_deref()),
        (502, Some("refused"))
    );

    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\nhealth = { every = \"100ms\", timeout = \"1m\", unhealthy_after = 1, path = \"/health\" }\n",
    );
    origin.reply("/health", Reply::status(500));
    wait_until("it is down", || {
        let answer = larder.get("/").send();
        (answer.status, answer.parameter("detail").as_deref()) == (503, Some("no-healthy-server"))
    });
}

#[test]
fn a_queue_is_full_or_takes_too_long() {
    for (queue, detail) in [
        ("length = 0", "queue-full"),
        ("length = 1, time = \"50ms\"", "queue-timeout"),
    ] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\nmost_concurrent = 1\nqueue = {{ {queue} }}\n"
        ));
        let gate = Gate::new();
        let held = Reply::ok().cache("no-store").hold_head(&gate).body("held");
        origin.reply("/held", held);
        let mut first = larder.get("/held").begin();
        gate.wait_reached();
        let answer = larder.get("/other").send();
        assert_eq!(
            (answer.status, answer.parameter("detail").as_deref()),
            (503, Some(detail))
        );
        gate.open();
        assert_eq!(first.read().text(), "held");
        assert_eq!(origin.all().len(), 1);
    }
}

/// An answer that breaks off has gone out by then: what is told of it is in the log.
#[test]
fn an_origin_that_stalls_is_named_where_nothing_has_gone_out() {
    let origin = Origin::start();
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = \"{}\"\nretry.attempts = 0\ntimeouts.between_bytes = \"100ms\"\n",
            origin.url()
        ))
        .start();
    // In one write: nothing of it may come too late.
    let half = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    origin.reply("/", half.until_client_leaves());
    let answer = larder.get("/").send();
    assert!(!answer.complete && answer.text() == "half");
    larder.wait_output("the response stalled");
}
