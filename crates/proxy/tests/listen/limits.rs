//! Limits on time and numbers.

use crate::site::{SOON, Site, loopback, quick};
use std::time::Duration;

#[test]
fn a_slow_head_gets_408() {
    let site = Site::with(quick(|limits| limits.head_time = SOON));
    let mut client = site.client();
    client.send("GET / HTTP/1.1\r\nHost");
    let response = client.read();
    assert_eq!(response.status, 408);
    assert_eq!(
        response.header("told-bytes"),
        response.header("content-length")
    );
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(
        response.header("cache-status"),
        Some("script; detail=request-timeout")
    );
    assert_eq!(client.read_to_end(), b"");
    site.wait_counted("the limit", |counters| counters.timeouts == 1);
}

/// What may become a preface of HTTP/2 may become a `POST` as well.
#[test]
fn a_head_that_ends_with_its_first_letter_gets_408_too() {
    for first in ["P", "PR"] {
        let site = Site::with(quick(|limits| limits.head_time = SOON));
        let mut client = site.client();
        client.send(first);
        assert_eq!(client.read().status, 408, "{first}");
        assert_eq!(client.read_to_end(), b"", "{first}");
        site.wait_counted("the limit", |counters| counters.timeouts == 1);
    }
}

#[test]
fn a_slow_second_head_gets_408_too() {
    let site = Site::with(quick(|limits| limits.head_time = SOON));
    let mut client = site.client();
    assert_eq!(client.get("/").send().status, 200);
    client.send("G");
    assert_eq!(client.read().status, 408);
}

#[test]
fn half_a_head_that_came_with_a_request_gets_408_too() {
    let site = Site::with(quick(|limits| limits.head_time = SOON));
    let mut client = site.client();
    client.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHo");
    assert_eq!(client.read().text(), "GET /first");
    assert_eq!(client.read().status, 408);
    assert_eq!(client.read_to_end(), b"");
    site.wait_counted("the limit", |counters| counters.timeouts == 1);
}

#[test]
fn half_a_head_that_came_with_content_gets_408_too() {
    for framed in [
        "Content-Length: 2\r\n\r\nok",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ] {
        let site = Site::with(quick(|limits| limits.head_time = SOON));
        let mut client = site.client();
        client.send(format!(
            "POST /read HTTP/1.1\r\nHost: a\r\n{framed}GET /second HTTP/1.1\r\nHo"
        ));
        assert_eq!(client.read().text(), "ok");
        assert_eq!(client.read().status, 408, "{framed}");
        assert_eq!(client.read_to_end(), b"");
    }
}

#[test]
fn a_head_in_pieces_is_served() {
    let site = Site::plain();
    let mut client = site.client();
    client.send_bytewise("GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read().text(), "GET /pieces");
    // Short and long, and two that come one behind the other, cut where they meet.
    let long = "x".repeat(12_000);
    for value in ["y", &long] {
        let head = format!("GET /long HTTP/1.1\r\nHost: a\r\nA: {value}\r\n\r\n");
        client.send_bytewise(&head);
        assert_eq!(client.read().text(), "GET /long");
        for cut in [head.len() - 3, head.len() - 1, head.len() + 1] {
            let twice = head.repeat(2);
            let (first, rest) = twice.split_at(cut);
            let (second, last) = rest.split_at(rest.len() - 1);
            client.send(first);
            client.send(second);
            assert_eq!(client.read().text(), "GET /long");
            client.send(last);
            assert_eq!(client.read().text(), "GET /long");
        }
    }
}

/// What cannot become a head is found out before its end, or that there is none, and not only when the time for it is
/// over.
#[test]
fn what_is_no_head_is_found_out_in_pieces_too() {
    let site = Site::plain();
    let mut client = site.client();
    client.send_bytewise("GET / HTTP/1.1\r\nHost: a\r\nB\0: c\r\n");
    client.send_bytewise("x".repeat(40));
    assert_eq!(client.read().status, 400);
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let site = Site::with(quick(|limits| limits.idle_time = SOON));
    let mut client = site.client();
    assert_eq!(client.get("/").send().status, 200);
    assert_eq!(client.read_to_end(), b"");
    site.wait_counted("the close", |counters| counters.active == 0);
    assert_eq!(site.limiter.snapshot().timeouts, 0);
}

#[test]
fn a_connection_that_says_nothing_is_closed_without_a_word() {
    let site = Site::with(quick(|limits| limits.idle_time = SOON));
    assert_eq!(site.client().read_to_end(), b"");
    site.wait_counted("the close", |counters| counters.active == 0);
    assert_eq!(site.limiter.snapshot().timeouts, 0);
}

#[test]
fn a_slow_proxy_header_is_cut() {
    let mut config = loopback();
    config.proxy_protocol = vec!["127.0.0.0/8".parse().unwrap()];
    let site = Site::start(config, quick(|limits| limits.handshake_time = SOON));
    let mut client = site.client();
    client.send("PROXY TCP4 ");
    assert_eq!(client.read_to_end(), b"");
    site.wait_counted("the limit", |counters| {
        (counters.timeouts, counters.handshakes_failed) == (1, 1)
    });
}

#[test]
fn a_slow_body_gets_408() {
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let site = Site::with(quick(|limits| limits.body_time = SOON));
        let mut client = site.client();
        client.send(format!(
            "POST /read HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n5\r\nab"
        ));
        assert_eq!(client.read().status, 408, "{framing}");
        assert_eq!(client.read_to_end(), b"", "{framing}");
    }
}

/// Of a chunk, the size and what may stand behind it (RFC 9112 section 7.1.1).
#[test]
fn bytes_that_bring_no_content_are_no_progress() {
    let site = Site::with(quick(|limits| limits.body_time = SOON));
    let mut client = site.client();
    client.send("POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;");
    while !client.has_answer() {
        client.send("x");
    }
    assert_eq!(client.read().status, 408);
}

#[test]
fn a_slow_body_whose_answer_has_begun_is_cut_off_without_another_answer() {
    let site = Site::with(quick(|limits| limits.body_time = SOON));
    let mut client = site.client();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab");
    let all = client.read_to_end();
    let text = String::from_utf8_lossy(&all);
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert!(text.ends_with("2\r\nab\r\n"), "{text}");
}

#[test]
fn a_slow_service_is_not_the_clients_fault() {
    let site = Site::with(quick(|limits| {
        limits.body_time = SOON;
        limits.head_time = SOON;
        limits.idle_time = SOON;
        limits.write_time = SOON;
    }));
    let mut client = site.client();
    client.send("POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok");
    site.stage.wait_entered(1);
    // Another connection meets its limit, so the clock has gone round by then.
    assert_eq!(site.client().get("/").send().status, 200);
    let mut other = site.client();
    other.send("GET /");
    assert_eq!(other.read().status, 408);
    site.stage.let_go(1);
    assert_eq!(client.read().text(), "waited");
}

#[test]
fn a_client_that_reads_nothing_is_cut() {
    let site = Site::with(quick(|limits| limits.write_time = SOON));
    let mut client = site.client();
    client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n");
    site.wait_counted("the cut", |counters| {
        counters.timeouts == 1 && counters.active == 0
    });
    drop(client);
}

#[test]
fn content_left_unread_does_not_reset_the_answer() {
    let site = Site::with(quick(|_| ()));
    let mut client = site.client();
    client.send("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
    client.send(vec![b'x'; 1_000_000]);
    assert_eq!(client.read().status, 413);
}

/// Whatever part of it lies here already: what follows is never taken for a request.
#[test]
fn behind_content_left_unread_the_connection_ends() {
    let inner = "GET /inner HTTP/1.1\r\nHost: a\r\n\r\n";
    let head = |length: usize| {
        format!("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
    };
    for sent in [
        head(inner.len()) + inner,
        head(2 * inner.len()) + inner,
        head(inner.len()),
        head(inner.len()).replace("Host: a\r\n", "") + inner,
    ] {
        let site = Site::with(quick(|_| ()));
        let mut client = site.client();
        client.send(&sent);
        let answer = client.read();
        assert!(answer.status >= 400, "{sent}");
        assert_eq!(answer.header("connection"), Some("close"), "{sent}");
        assert_eq!(client.read_to_end(), b"", "{sent}");
    }
}

#[test]
fn connections_in_all() {
    let site = Site::with(quick(|limits| limits.connections = 2));
    let mut kept = [site.client(), site.client()];
    for client in &mut kept {
        assert_eq!(client.get("/").send().status, 200);
    }
    let mut third = site.client();
    assert_eq!(third.read().status, 503);
    assert_eq!(third.read_to_end(), b"");
    site.wait_counted("the refusal", |counters| counters.refused == 1);
    drop(kept);
    site.wait_counted("room", |counters| counters.active == 0);
    assert_eq!(site.client().get("/").send().status, 200);
}

#[test]
fn connections_by_address() {
    let site = Site::with(quick(|limits| limits.connections_per_address = Some(1)));
    let mut first = site.client();
    assert_eq!(first.get("/").send().status, 200);
    assert_eq!(site.client().read().status, 503);
    drop(first);
    site.wait_counted("room", |counters| counters.active == 0);
    assert_eq!(site.client().get("/").send().status, 200);
}

#[test]
fn connections_by_address_behind_a_balancer() {
    let mut config = loopback();
    config.proxy_protocol = vec!["127.0.0.0/8".parse().unwrap()];
    let limits = quick(|limits| limits.connections_per_address = Some(1));
    let site = Site::start(config, limits);
    let mut one = site.client();
    one.send("PROXY TCP4 192.0.2.1 192.0.2.9 1000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(one.read().status, 200);
    let mut another = site.client();
    another.send("PROXY TCP4 192.0.2.2 192.0.2.9 1000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(another.read().status, 200);
    let mut same = site.client();
    same.send("PROXY TCP4 192.0.2.1 192.0.2.9 1001 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(same.read().status, 503);
    site.wait_counted("the refusal", |counters| counters.refused == 1);
}

#[test]
fn limits_change_for_connections_to_come() {
    let site = Site::with(quick(|limits| limits.target = 100));
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "t".repeat(200));
    let mut before = site.client();
    assert_eq!(before.get("/").send().status, 200);
    site.limiter
        .set_limits(quick(|limits| limits.linger_time = Duration::ZERO));
    assert_eq!(site.ask(&long).status, 200);
    before.send(&long);
    assert_eq!(before.read().status, 414);
}
