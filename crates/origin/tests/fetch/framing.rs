//! What a server may not send: each is an error, and the connection is not used again.

#![allow(clippy::too_many_lines, reason = "a table is as long as what it lists")]

use crate::support::*;
use http::Method;
use origin::{Context, Kind, Origin};
use testkit::Reply;

/// Heads that must not be believed.
#[test]
fn malformed_heads() {
    let large = "x".repeat(100_000);
    let table: &[(&str, &str, Kind)] = &[
        ("nothing at all", "", Kind::Truncated),
        (
            "half a head",
            "HTTP/1.1 200 OK\r\nContent-Le",
            Kind::Truncated,
        ),
        ("garbage", "hello there\r\n\r\n", Kind::Malformed),
        (
            "TLS alert",
            "\u{15}\u{3}\u{1}\0\u{2}\u{2}F",
            Kind::Malformed,
        ),
        (
            "no such version",
            "HTTP/3.1 200 OK\r\n\r\n",
            Kind::Malformed,
        ),
        ("two digits", "HTTP/1.1 20 OK\r\n\r\n", Kind::Malformed),
        ("four digits", "HTTP/1.1 2000 OK\r\n\r\n", Kind::Malformed),
        ("below 100", "HTTP/1.1 099 OK\r\n\r\n", Kind::Malformed),
        (
            "name with space",
            "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
            Kind::Malformed,
        ),
        ("no name", "HTTP/1.1 200 OK\r\n: b\r\n\r\n", Kind::Malformed),
        (
            "no colon",
            "HTTP/1.1 200 OK\r\nabc\r\n\r\n",
            Kind::Malformed,
        ),
        ("NUL", "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", Kind::Malformed),
        (
            "bare CR",
            "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
            Kind::Malformed,
        ),
        (
            "folding",
            "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
            Kind::Malformed,
        ),
        (
            "both lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            Kind::Malformed,
        ),
        (
            "contradictory lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            Kind::Malformed,
        ),
        (
            "repeated length",
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na",
            Kind::Malformed,
        ),
        (
            "negative length",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na",
            Kind::Malformed,
        ),
        (
            "unknown coding",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            Kind::Malformed,
        ),
        (
            "chunks before HTTP/1.1",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            Kind::Malformed,
        ),
        (
            "unasked 101",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            Kind::UnaskedSwitch,
        ),
        (
            "large value",
            &format!("HTTP/1.1 200 OK\r\nA: {large}\r\n\r\n"),
            Kind::HeadTooLarge,
        ),
        (
            "endless reason",
            &format!("HTTP/1.1 200 {large}{large}"),
            Kind::HeadTooLarge,
        ),
        (
            "very many fields",
            &format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(300)),
            Kind::HeadTooLarge,
        ),
    ];
    for (row, bytes, want) in table {
        let server = testkit::Origin::start();
        server.reply("/", Reply::raw(bytes));
        let origin = plain(&server);
        work(async {
            let error = once(&origin, Method::GET, "/").await.expect_err(row);
            assert_eq!(error.kind(), *want, "{row}: {error}");
            assert!(error.server().is_some(), "{row}");
        });
        assert_eq!(origin.report().servers[0].failures, 1, "{row}");
        assert_eq!(origin.report().active, 0, "{row}");
    }
}

/// Bodies that end otherwise than announced.
#[test]
fn malformed_bodies() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let table: &[(&str, String, Kind)] = &[
        (
            "short of its length",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_owned(),
            Kind::Truncated,
        ),
        (
            "no last chunk",
            format!("{CHUNKED}3\r\nabc\r\n"),
            Kind::Truncated,
        ),
        (
            "inside a chunk",
            format!("{CHUNKED}9\r\nabc"),
            Kind::Truncated,
        ),
        (
            "inside the last chunk",
            format!("{CHUNKED}3\r\nabc\r\n0\r\n"),
            Kind::Truncated,
        ),
        (
            "no size",
            format!("{CHUNKED}\r\nabc\r\n0\r\n\r\n"),
            Kind::Malformed,
        ),
        (
            "not hexadecimal",
            format!("{CHUNKED}3g\r\nabc\r\n0\r\n\r\n"),
            Kind::Malformed,
        ),
        (
            "signed",
            format!("{CHUNKED}+3\r\nabc\r\n0\r\n\r\n"),
            Kind::Malformed,
        ),
        (
            "prefixed",
            format!("{CHUNKED}0x3\r\nabc\r\n0\r\n\r\n"),
            Kind::Malformed,
        ),
        (
            "overflow",
            format!("{CHUNKED}fffffffffffffffff\r\nabc"),
            Kind::Malformed,
        ),
        (
            "bare LF",
            format!("{CHUNKED}3\nabc\n0\n\n"),
            Kind::Malformed,
        ),
        (
            "longer than said",
            format!("{CHUNKED}3\r\nabcd\r\n0\r\n\r\n"),
            Kind::Malformed,
        ),
        (
            "endless extension",
            format!("{CHUNKED}3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(100_000)),
            Kind::Malformed,
        ),
        (
            "endless trailer",
            format!("{CHUNKED}0\r\nA: {}\r\n\r\n", "x".repeat(100_000)),
            Kind::Malformed,
        ),
    ];
    for (row, bytes, want) in table {
        let server = testkit::Origin::start();
        server.reply("/", Reply::raw(bytes));
        let origin = plain(&server);
        work(async {
            let request = request(Method::GET, "/", empty());
            let response = origin.fetch(request, Context::default()).await.expect(row);
            assert_eq!(kind(read(response).await), *want, "{row}");
        });
        assert_eq!(origin.report().active, 0, "{row}");
    }
}

/// The connection stays open after these; the next fetch must not use it all the same.
#[test]
fn odd_responses_end_their_connection() {
    let table: &[(&str, &str)] = &[
        (
            "bytes after the end",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK",
        ),
        (
            "a body on 204",
            "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nab",
        ),
        (
            "chunks on 204",
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        (
            "a body on 304",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nab",
        ),
        (
            "said to close",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        ),
        ("HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ];
    for (row, bytes) in table {
        let server = testkit::Origin::start();
        let gate = testkit::Gate::new();
        server.reply("/odd", Reply::raw(bytes).hold(&gate));
        server.reply("/", Reply::ok().body("next"));
        let origin = plain(&server);
        work(async {
            get(&origin, "/odd").await.expect(row);
            assert_eq!(get(&origin, "/").await.expect(row).text(), "next", "{row}");
        });
        assert_eq!(server.connections(), 2, "{row}");
        gate.open();
    }
}

#[test]
fn an_unread_body_closes_its_connection() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().chunked().endless("again and "));
    let origin = plain(&server);
    work(async {
        let request = request(Method::GET, "/", empty());
        let response = origin.fetch(request, repeatable()).await.unwrap();
        assert_eq!(origin.report().active, 1);
        drop(response);
        assert_eq!(origin.report().active, 0);
        until(|| server.abandoned("/") > 0).await;
    });
}

#[test]
fn a_fetch_given_up_before_its_head_closes_its_connection() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().hang());
    let origin = plain(&server);
    work(async {
        let fetch = origin.fetch(request(Method::GET, "/", empty()), repeatable());
        let arrived = async {
            until(|| server.requests("/") > 0).await;
        };
        tokio::select! {
            _ = fetch => panic!("no head was sent"),
            () = arrived => {}
        }
        until(|| server.abandoned("/") > 0).await;
        assert_eq!(origin.report().active, 0);
    });
}

#[test]
fn the_limit_on_heads_is_exact_enough() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().header("A", "x".repeat(4_000)));
    for (largest_head, fine) in [(4_000, false), (5_000, true)] {
        let mut config = config([tcp(server.address())]);
        config.largest_head = largest_head;
        let origin = Origin::new(config).unwrap();
        let got = work(get(&origin, "/"));
        assert_eq!(got.is_ok(), fine, "{largest_head}");
    }
}
