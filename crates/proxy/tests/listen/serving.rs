//! What works.

use crate::site::{Site, loopback, quick};
use testkit::Client;

#[test]
fn keeps_connections_and_answers_pipelined_requests_in_order() {
    let site = Site::plain();
    let mut client = site.client();
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    client.send(ask("/1") + &ask("/2") + &ask("/3"));
    for path in ["/1", "/2", "/3"] {
        assert_eq!(client.read().text(), format!("GET {path}"));
    }
    // Three times 28 bytes of request and 81 of answer.
    site.wait_counted("all bytes", |counters| {
        (counters.bytes_in, counters.bytes_out) == (84, 243)
    });
    let snapshot = site.limiter.snapshot();
    assert_eq!((snapshot.accepted, snapshot.active), (1, 1));
}

#[test]
fn a_panic_ends_one_request_alone() {
    let site = Site::plain();
    for path in ["/panic", "/panic-at-once"] {
        let mut client = site.client();
        let response = client.get(path).send();
        assert_eq!(response.status, 500, "{path}");
        assert_eq!(
            response.header("cache-status"),
            Some("script; detail=internal-error")
        );
        assert_eq!(client.get("/after").send().text(), "GET /after", "{path}");
    }
    assert_eq!(site.limiter.snapshot().panics, 2);
}

#[test]
fn a_client_that_leaves_drops_its_request() {
    let site = Site::plain();
    let mut client = site.client();
    client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    site.stage.wait_entered(1);
    drop(client);
    site.stage.wait_left(1);
    site.wait_counted("the close", |counters| counters.active == 0);
}

#[test]
fn a_client_that_only_ends_its_side_is_answered() {
    let site = Site::plain();
    for path in ["/", "/large"] {
        let mut client = site.client();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.end();
        assert!(client.read().complete, "{path}");
        assert_eq!(client.read_to_end(), b"", "{path}");
    }
}

#[test]
fn a_request_cut_short_is_not_served() {
    let site = Site::plain();
    let mut client = site.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n");
    client.end();
    assert_eq!(client.read_to_end(), b"");
    // Here the service hears of it.
    let mut client = site.client();
    client.send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    client.end();
    assert_eq!(client.read().status, 400);
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn upgrades_become_tunnels() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(
        "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nearly",
    );
    assert_eq!(client.read_head().status, 101);
    assert_eq!(client.read_bytes(5), b"early");
    client.send("later");
    assert_eq!(client.read_bytes(5), b"later");
    assert_eq!(site.limiter.snapshot().active, 1);
    drop(client);
    site.wait_counted("the close", |counters| counters.active == 0);
}

#[test]
fn all_workers_share_one_port() {
    let site = Site::try_start(loopback(), quick(|_| ()), 4).unwrap();
    let clients: Vec<Client> = (0..32).map(|_| site.client()).collect();
    for mut client in clients {
        assert_eq!(client.get("/").send().status, 200);
    }
    assert_eq!(site.limiter.snapshot().accepted, 32);
}

#[test]
fn redirects_to_https() {
    let row = |port: u16, request: &str| {
        let mut config = loopback();
        config.redirect_https = Some(port);
        let response = Site::start(config, quick(|_| ())).ask(request);
        (
            response.status,
            response.header("location").unwrap_or_default().to_owned(),
        )
    };
    for (port, request, location) in [
        (
            443,
            "GET /a?b=%20 HTTP/1.1\r\nHost: a.test:8080\r\n\r\n",
            "https://a.test/a?b=%20",
        ),
        (
            8443,
            "POST / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
            "https://[::1]:8443/",
        ),
        (443, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "https://a/"),
        (
            443,
            "GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n",
            "https://b/x",
        ),
        (
            443,
            "GET http://me:secret@b:80/x HTTP/1.1\r\nHost: b\r\n\r\n",
            "https://b/x",
        ),
    ] {
        assert_eq!(
            row(port, request),
            (308, location.to_owned()),
            "{request:?}"
        );
    }
    assert_eq!(row(443, "GET / HTTP/1.0\r\n\r\n").0, 400);
}
