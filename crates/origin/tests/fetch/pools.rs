//! Connections are kept, and let go of.

use crate::support::*;
use http::Method;
use origin::{Context, Origin};
use std::{
    io::{Read, Write},
    net::TcpListener,
    time::Duration,
};
use testkit::{Gate, Reply};

#[test]
fn no_more_are_kept_than_allowed() {
    for (kept, made_anew) in [(0, 3), (1, 2), (3, 0)] {
        let server = testkit::Origin::start();
        let mut config = config([tcp(server.address())]);
        config.idle_connections = kept;
        let origin = Origin::new(config).unwrap();
        work(async {
            for round in ["/first", "/second"] {
                let gate = Gate::new();
                server.reply(round, Reply::ok().hold_head(&gate));
                let opener = async {
                    until(|| gate.reached() >= 3).await;
                    gate.open();
                };
                let one = || get(&origin, round);
                let (a, b, c, ()) = tokio::join!(one(), one(), one(), opener);
                a.and(b).and(c).unwrap();
            }
        });
        assert_eq!(server.connections(), 3 + made_anew, "{kept} kept");
    }
}

#[test]
fn idle_connections_grow_old() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let mut config = config([tcp(server.address())]);
    config.idle_time = Duration::ZERO;
    let origin = Origin::new(config).unwrap();
    work(async {
        for _ in 0..3 {
            get(&origin, "/").await.unwrap();
        }
    });
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_connection_closed_while_idle_is_replaced_unseen() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let origin = plain(&server);
    work(async {
        for _ in 0..5 {
            once(&origin, Method::POST, "/").await.unwrap();
            server.drop_connections();
        }
    });
    assert_eq!(server.connections(), 5);
    assert_eq!(origin.report().servers[0].failures, 0);
}

#[test]
fn a_connection_that_closes_on_the_request_is_tried_anew_if_repeatable() {
    let server = testkit::Origin::start();
    server.on("/", |request| match request.nth {
        2 | 4 => Reply::close(),
        nth => Reply::ok().body(format!("{nth}")),
    });
    let origin = plain(&server);
    work(async {
        assert_eq!(get(&origin, "/").await.unwrap().text(), "1");
        assert_eq!(get(&origin, "/").await.unwrap().text(), "3");
        let error = once(&origin, Method::POST, "/").await.unwrap_err();
        assert_eq!(error.kind(), origin::Kind::Truncated);
    });
    assert_eq!(
        server.requests("/"),
        4,
        "what may have been done is not sent again"
    );
}

/// RFC 9110 section 15.5.9: the server ended the idle connection while the request was on its way, and says so.
#[test]
fn a_408_that_ends_a_reused_connection_is_no_answer() {
    let farewells = [
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 408 Request Time-out\r\nCache-Control: no-cache\r\n\r\nlate",
        "HTTP/1.1 408 Request Timeout\r\n\r\nlate",
    ];
    for farewell in farewells {
        let server = testkit::Origin::start();
        server.on("/", move |request| match request.nth {
            2 | 4 | 6 | 7 | 9 => Reply::raw(farewell),
            nth => Reply::ok().body(format!("{nth}")),
        });
        let origin = plain(&server);
        let put = async || {
            let context = Context {
                content: Some("content".into()),
                ..repeatable()
            };
            let request = request(Method::PUT, "/", full("content"));
            read(origin.fetch(request, context).await.unwrap()).await
        };
        work(async {
            assert_eq!(get(&origin, "/").await.unwrap().text(), "1");
            assert_eq!(get(&origin, "/").await.unwrap().text(), "3");
            assert_eq!(put().await.unwrap().text(), "5", "{farewell}");
            let twice = get(&origin, "/").await.unwrap();
            assert_eq!(twice.status, 408, "the second one is about the request");
            assert_eq!(get(&origin, "/").await.unwrap().text(), "8");
            let unsafe_one = once(&origin, Method::POST, "/").await.unwrap();
            assert_eq!(unsafe_one.status, 408, "its client may send it again");
        });
        assert_eq!(server.requests("/"), 9);
        assert_eq!(origin.report().servers[0].failures, 0);
    }
}

/// An application says so too, and goes on.
#[test]
fn a_408_that_ends_no_connection_is_an_answer() {
    let server = testkit::Origin::start();
    server.on("/", |request| match request.nth {
        1 => Reply::ok(),
        _ => Reply::status(408),
    });
    let origin = plain(&server);
    work(async {
        for want in [200, 408, 408] {
            assert_eq!(get(&origin, "/").await.unwrap().status, want);
        }
    });
    assert_eq!((server.requests("/"), server.connections()), (3, 1));
}

/// Answers one request on one connection; how many bytes came after it, until the connection was closed or broke.
fn answer_one(listener: &TcpListener) -> usize {
    let (mut stream, _) = listener.accept().unwrap();
    let mut seen = [0; 1024];
    assert!(stream.read(&mut seen).unwrap() > 0);
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(answer).unwrap();
    stream.read(&mut seen).unwrap_or(0)
}

#[test]
fn an_origin_that_is_gone_gives_its_connections_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (closed, told) = tokio::sync::oneshot::channel();
    let server = std::thread::spawn(move || {
        closed.send(answer_one(&listener)).unwrap();
    });
    work(async {
        let origin = Origin::new(config([tcp(address)])).unwrap();
        get(&origin, "/").await.unwrap();
        drop(origin);
        assert_eq!(told.await.unwrap(), 0, "the connection was closed");
    });
    server.join().unwrap();
}

#[test]
fn what_is_kept_after_none_was_kept_grows_old_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (closed, mut told) = tokio::sync::mpsc::unbounded_channel();
    let server = std::thread::spawn(move || {
        for _ in 0..2 {
            closed.send(answer_one(&listener)).unwrap();
        }
    });
    let mut config = config([tcp(address)]);
    config.idle_time = Duration::from_millis(1);
    let origin = Origin::new(config).unwrap();
    work(async {
        for _ in 0..2 {
            get(&origin, "/").await.unwrap();
            assert_eq!(told.recv().await, Some(0), "the connection was closed");
        }
    });
    server.join().unwrap();
}
