//! What is sent again, and what is not.

use crate::support::*;
use http::Method;
use origin::{
    Context, Kind, Origin, Waited,
    config::{Balance, ConcurrencyLimits, Retry},
    pages,
};
use std::{cell::Cell, net::SocketAddr, sync::Arc};
use testkit::Reply;

/// An address that refuses connections: its server was stopped and keeps the port.
fn refusing() -> testkit::Origin {
    let server = testkit::Origin::start();
    server.stop();
    server
}

fn origin_of(addresses: impl IntoIterator<Item = SocketAddr>) -> Arc<Origin> {
    let mut config = config(addresses.into_iter().map(tcp));
    config.timeouts.first_byte = LONG;
    Origin::new(config).unwrap()
}

#[test]
fn a_refused_connection_moves_on_whatever_the_request() {
    let (dead, dying, alive) = (refusing(), refusing(), testkit::Origin::start());
    alive.on("/", |request| Reply::ok().body(&request.body));
    let origin = origin_of([dead.address(), dying.address(), alive.address()]);
    work(async {
        for _ in 0..3 {
            let request = request(Method::POST, "/", full("once"));
            let response = origin.fetch(request, Context::default()).await.unwrap();
            assert_eq!(read(response).await.unwrap().text(), "once");
        }
    });
    assert_eq!(alive.requests("/"), 3);
}

#[test]
fn refused_everywhere_is_unreachable() {
    let (one, other) = (refusing(), refusing());
    let origin = origin_of([one.address(), other.address()]);
    let error = work(get(&origin, "/")).unwrap_err();
    assert_eq!(error.kind(), Kind::Refused);
    assert!(error.is_unreachable() && error.worth_retrying() && !error.is_timeout());
    let failures = origin
        .report()
        .servers
        .into_iter()
        .map(|server| server.failures);
    assert_eq!(failures.collect::<Vec<_>>(), [1, 1]);
}

/// RFC 9110 section 9.2.2: a proxy MUST NOT automatically retry non-idempotent requests.
#[test]
fn what_was_sent_goes_out_again_only_if_repeatable() {
    let failures: [(&str, Reply, Kind); 3] = [
        ("closed", Reply::close(), Kind::Truncated),
        ("garbage", Reply::raw("no\r\n\r\n"), Kind::Malformed),
        ("hanging", Reply::ok().hang(), Kind::FirstByteTimeout),
    ];
    for (row, failure, want) in failures {
        for repeatable in [true, false] {
            let (bad, good) = (testkit::Origin::start(), testkit::Origin::start());
            bad.reply("/", failure.clone());
            good.reply("/", Reply::ok().body("good"));
            let origin = origin_of([bad.address(), good.address()]);
            let context = Context {
                repeatable,
                ..Context::default()
            };
            let fetch = async {
                let response = origin
                    .fetch(request(Method::GET, "/", empty()), context)
                    .await?;
                read(response).await
            };
            let got = work(async {
                if want == Kind::FirstByteTimeout {
                    too_late(fetch, || bad.requests("/") == 1).await
                } else {
                    fetch.await
                }
            });
            match got {
                Ok(answer) => assert!(repeatable && answer.text() == "good", "{row}"),
                Err(error) => assert!(!repeatable && error.kind() == want, "{row}: {error}"),
            }
            assert_eq!(bad.requests("/"), 1, "{row}");
            assert_eq!(good.requests("/"), usize::from(repeatable), "{row}");
        }
    }
}

/// RFC 9111 section 4.2.3: the age of a response counts from the request that led to it, not from those that led to
/// nothing.
#[test]
fn how_long_a_request_waited_for_attempts_that_failed_is_told() {
    let (bad, good) = (testkit::Origin::start(), testkit::Origin::start());
    bad.reply("/", Reply::ok().hang());
    good.reply("/", Reply::ok());
    let origin = origin_of([bad.address(), good.address()]);
    work(async {
        let fetch = || origin.fetch(request(Method::GET, "/", empty()), repeatable());
        let late = too_late(fetch(), || bad.requests("/") == 1).await.unwrap();
        let waited = late.extensions().get::<Waited>();
        assert!(waited.is_some_and(|waited| waited.0 >= LONG), "{waited:?}");
        assert_eq!(read(late).await.unwrap().status, 200);
    });
}

/// The same of a page store that was asked first, and said nothing in time.
#[test]
fn how_long_a_request_waited_for_who_was_asked_first_is_told() {
    let (silent, good) = (
        std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
        testkit::Origin::start(),
    );
    good.reply("/", Reply::ok());
    silent.set_nonblocking(true).unwrap();
    let pages = Origin::pages(pages::Config {
        name: "pages".to_owned(),
        url: format!("memcached://{}", silent.local_addr().unwrap()),
        key: pages::template::Template::parse("$uri").unwrap(),
        format: pages::Format::Plain,
        content_type: None,
        timeout: LONG,
        concurrency: ConcurrencyLimits::default(),
    });
    let origin = Origin::first_of(vec![pages.unwrap(), origin_of([good.address()])]);
    work(async {
        let fetch = origin.fetch(request(Method::GET, "/", empty()), repeatable());
        let accepted = Cell::new(None);
        let asked = || {
            silent
                .accept()
                .is_ok_and(|peer| accepted.replace(Some(peer)).is_none())
        };
        let late = too_late(fetch, asked).await.unwrap();
        let waited = late.extensions().get::<Waited>();
        assert!(waited.is_some_and(|waited| waited.0 >= LONG), "{waited:?}");
        assert_eq!(read(late).await.unwrap().status, 200);
    });
}

#[test]
fn the_same_server_is_asked_again_only_if_it_hung_up() {
    for (reply, hangs, requests) in [
        (Reply::close(), false, 2),
        (Reply::raw("no\r\n\r\n"), false, 1),
        (Reply::ok().hang(), true, 1),
    ] {
        let server = testkit::Origin::start();
        server.reply("/", reply);
        let origin = origin_of([server.address()]);
        let failed = work(async {
            let fetch = get(&origin, "/");
            if hangs {
                too_late(fetch, || server.requests("/") == 1).await
            } else {
                fetch.await
            }
        });
        failed.unwrap_err();
        assert_eq!(server.requests("/"), requests);
    }
}

#[test]
fn attempts_are_limited() {
    let servers: Vec<_> = (0..4).map(|_| testkit::Origin::start()).collect();
    for server in &servers {
        server.reply("/", Reply::raw("no\r\n\r\n"));
    }
    for (attempts, asked) in [(0, 1), (1, 2), (2, 3), (9, 4)] {
        let before: usize = servers.iter().map(|server| server.requests("/")).sum();
        let mut config = config(servers.iter().map(|server| tcp(server.address())));
        config.retry = Retry {
            attempts,
            percent: 100,
        };
        let origin = Origin::new(config).unwrap();
        assert_eq!(kind(work(get(&origin, "/"))), Kind::Malformed);
        let after: usize = servers.iter().map(|server| server.requests("/")).sum();
        assert_eq!(after - before, asked);
    }
}

#[test]
fn retries_have_a_budget() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::close());
    let mut config = config([tcp(server.address())]);
    config.retry.percent = 10;
    let origin = Origin::new(config).unwrap();
    // It is of ten seconds.
    work(at_once(async {
        for _ in 0..100 {
            get(&origin, "/").await.unwrap_err();
        }
    }));
    let requests = server.requests("/");
    assert_eq!(requests, 100 + 10 + 10, "a tenth, and ten always");
}

#[test]
fn a_broken_request_body_is_the_clients_fault() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let origin = plain(&server);
    work(async {
        let (sender, body) = pieces();
        let client = async {
            for piece in ["a", "b", "!"] {
                sender.send(piece).await.unwrap();
            }
        };
        let fetch = origin.fetch(request(Method::POST, "/", body), Context::default());
        let (response, ()) = tokio::join!(fetch, client);
        assert_eq!(kind(response.map(drop)), Kind::RequestBody);
    });
    assert_eq!(origin.report().servers[0].failures, 0);
}

#[test]
fn a_hash_finds_its_server_again() {
    let servers: Vec<_> = (0..3).map(|_| testkit::Origin::start()).collect();
    for (index, server) in servers.iter().enumerate() {
        server.reply("/", Reply::ok().body(index.to_string()));
    }
    let mut config = config(servers.iter().map(|server| tcp(server.address())));
    config.balance = Balance::ConsistentHash;
    let origin = Origin::new(config).unwrap();
    let ask = async |hash| {
        let context = Context {
            hash,
            ..repeatable()
        };
        let response = origin
            .fetch(request(Method::GET, "/", empty()), context)
            .await;
        read(response.unwrap()).await.unwrap().text().to_owned()
    };
    work(async {
        let mut seen = std::collections::BTreeSet::new();
        for hash in 0..30 {
            let first = ask(hash).await;
            assert_eq!(first, ask(hash).await);
            seen.insert(first);
        }
        assert_eq!(seen.len(), 3);
    });
}
