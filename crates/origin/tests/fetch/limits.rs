//! Time limits, and the limit on concurrent fetches.

use crate::support::*;
use http::Method;
use http_body_util::BodyExt;
use origin::{
    Context, Kind, Origin, Waited,
    config::{Address, Server},
};
use std::{net::TcpListener, sync::mpsc, time::Duration};
use testkit::{Gate, Reply};
use tokio::task::LocalSet;

const SHORT: Duration = Duration::from_millis(30);

#[test]
fn no_head_in_time() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().hang());
    let mut config = config([tcp(server.address())]);
    config.timeouts.first_byte = SHORT;
    let origin = Origin::new(config).unwrap();
    let error = work(get(&origin, "/")).unwrap_err();
    assert_eq!(error.kind(), Kind::FirstByteTimeout);
    assert!(error.is_timeout() && error.is_unreachable());
}

#[test]
fn a_head_that_trickles_is_no_head() {
    let server = testkit::Origin::start();
    let gate = Gate::new();
    server.reply("/", Reply::raw("HTTP/1.1 200 OK\r\nContent-").hold(&gate));
    let mut config = config([tcp(server.address())]);
    config.timeouts.first_byte = SHORT;
    let origin = Origin::new(config).unwrap();
    assert_eq!(kind(work(get(&origin, "/"))), Kind::FirstByteTimeout);
    gate.open();
}

/// The alarm that a connection brings along from an earlier request rings too early for the next.
#[test]
fn each_request_of_a_connection_has_its_own_time_for_the_head() {
    let server = testkit::Origin::start();
    let gate = Gate::new();
    server.reply("/", Reply::ok());
    server.reply("/slow", Reply::ok().hold_head(&gate));
    server.reply("/never", Reply::ok().hang());
    let mut config = config([tcp(server.address())]);
    let limit = LONG / 4;
    config.timeouts.first_byte = limit;
    let origin = Origin::new(config).unwrap();
    work(async {
        let slow = at_once(async {
            get(&origin, "/").await.unwrap();
            tokio::time::advance(limit * 3 / 4).await;
            let clock = async {
                until(|| gate.reached() > 0).await;
                tokio::time::advance(limit / 2).await;
                gate.open();
            };
            tokio::join!(get(&origin, "/slow"), clock).0
        });
        assert_eq!(slow.await.unwrap().status, 200);
        let never = too_late(get(&origin, "/never"), || server.requests("/never") == 1);
        assert_eq!(kind(never.await), Kind::FirstByteTimeout);
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn a_body_that_stalls() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().length(9).body("abc").until_client_leaves());
    let mut config = config([tcp(server.address())]);
    config.timeouts.between_bytes = SHORT;
    let origin = Origin::new(config).unwrap();
    let error = work(get(&origin, "/")).unwrap_err();
    assert_eq!(error.kind(), Kind::BetweenBytesTimeout);
    assert!(error.is_timeout() && !error.is_unreachable());
    testkit::wait_until("the connection is closed", || server.abandoned("/") == 1);
}

#[test]
fn a_body_may_take_longer_than_its_pauses() {
    let server = testkit::Origin::start();
    let gates: Vec<Gate> = (0..4).map(|_| Gate::new()).collect();
    let mut reply = Reply::ok().chunked();
    for gate in &gates {
        reply = reply.body("x").hold(gate);
    }
    server.reply("/", reply);
    let mut config = config([tcp(server.address())]);
    config.timeouts.between_bytes = LONG;
    let origin = Origin::new(config).unwrap();
    work(at_once(async {
        let opener = async {
            for gate in &gates {
                until(|| gate.reached() > 0).await;
                // Half the limit, four times: the sum is above it.
                tokio::time::advance(LONG / 2).await;
                gate.open();
            }
        };
        let (answer, ()) = tokio::join!(get(&origin, "/"), opener);
        assert_eq!(answer.unwrap().text(), "xxxx");
    }));
}

#[test]
fn the_whole_has_a_limit_before_and_after_the_head() {
    let server = testkit::Origin::start();
    server.reply("/head", Reply::ok().hang());
    server.reply(
        "/body",
        Reply::ok().chunked().body("a").until_client_leaves(),
    );
    let mut config = config([tcp(server.address())]);
    config.timeouts.whole = Some(SHORT);
    let origin = Origin::new(config).unwrap();
    work(async {
        assert_eq!(kind(get(&origin, "/head").await), Kind::WholeTimeout);
        assert_eq!(kind(get(&origin, "/body").await), Kind::WholeTimeout);
    });
}

/// A server that always has more to send, and a reader who takes his time: the limit holds, and the server is not to
/// blame.
#[test]
fn the_whole_has_a_limit_for_slow_readers_too() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok().length(1 << 40).endless("more and more"));
    let mut config = config([tcp(server.address())]);
    config.timeouts.whole = Some(SHORT);
    config.passive.failures = 1;
    let origin = Origin::new(config).unwrap();
    work(async {
        let asked = request(Method::GET, "/", empty());
        let mut body = match origin.fetch(asked, Context::default()).await {
            Ok(response) => response.into_body(),
            // On a machine under load.
            Err(late) => return assert_eq!(late.kind(), Kind::WholeTimeout),
        };
        tokio::time::sleep(SHORT).await;
        let late = loop {
            if let Err(late) = body.frame().await.unwrap() {
                break late;
            }
        };
        assert_eq!(late.kind(), Kind::WholeTimeout);
        assert!(body.frame().await.is_none());
        let report = origin.report();
        assert!(report.servers[0].healthy, "{report:?}");
    });
}

#[test]
fn a_server_that_does_not_take_connections() {
    // A full backlog of a listener that never accepts drops what comes; no packet answers.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let local = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    listener.bind(&local.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let mut config = config([tcp(address)]);
    config.timeouts.connect = SHORT;
    config.timeouts.first_byte = SHORT;
    let origin = Origin::new(config).unwrap();
    work(async {
        // The first ones still fit into the backlog, and get no answer there.
        for _ in 0..8 {
            let error = once(&origin, Method::GET, "/").await.unwrap_err();
            if error.kind() == Kind::ConnectTimeout {
                assert!(error.is_timeout() && error.is_unreachable());
                return;
            }
            assert_eq!(error.kind(), Kind::FirstByteTimeout);
        }
    });
}

#[test]
fn tls_that_never_answers_is_a_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config([tcp(listener.local_addr().unwrap())]);
    config.timeouts.connect = SHORT;
    config.tls = Some(origin::config::Tls {
        insecure: true,
        ..Default::default()
    });
    let origin = Origin::new(config).unwrap();
    assert_eq!(kind(work(get(&origin, "/"))), Kind::ConnectTimeout);
}

#[test]
fn a_slow_client_is_not_the_servers_fault() {
    let server = testkit::Origin::start();
    server.on("/", |request| Reply::ok().body(&request.body));
    let mut config = config([tcp(server.address())]);
    config.timeouts.first_byte = LONG;
    let origin = Origin::new(config).unwrap();
    work(at_once(async {
        let (sender, body) = pieces();
        let client = async {
            sender.send("slow ").await.unwrap();
            until(|| server.received("/") > 0).await;
            tokio::time::advance(4 * LONG).await;
            sender.send("client").await.unwrap();
            drop(sender);
        };
        let fetch = origin.fetch(request(Method::POST, "/", body), Context::default());
        let (response, ()) = tokio::join!(fetch, client);
        assert_eq!(read(response.unwrap()).await.unwrap().text(), "slow client");
    }));
}

#[test]
fn fetches_beyond_the_limit_wait_their_turn() {
    let server = testkit::Origin::start();
    let gate = Gate::new();
    server.reply("/held", Reply::ok().body("a").hold(&gate).body("b"));
    server.reply("/", Reply::ok());
    let mut config = config([tcp(server.address())]);
    (config.concurrency.most, config.concurrency.queue) = (1, 1);
    let origin = Origin::new(config).unwrap();
    work(async {
        let held = origin.fetch(request(Method::GET, "/held", empty()), repeatable());
        let held = held.await.unwrap();
        let waiting = tokio::task::spawn_local({
            let origin = origin.clone();
            async move { get(&origin, "/").await }
        });
        until(|| origin.report().queued > 0).await;
        let error = get(&origin, "/").await.unwrap_err();
        assert_eq!(error.kind(), Kind::QueueFull);
        assert!(error.is_unreachable());
        assert_eq!(
            server.requests("/"),
            0,
            "the turn lasts until the body's end"
        );
        gate.open();
        assert_eq!(read(held).await.unwrap().text(), "ab");
        waiting.await.unwrap().unwrap();
        let report = origin.report();
        assert_eq!((report.active, report.queued), (0, 0));
    });
}

#[test]
fn a_turn_that_does_not_come() {
    let server = testkit::Origin::start();
    server.reply("/held", Reply::ok().length(9).until_client_leaves());
    server.reply("/", Reply::ok());
    let mut config = config([tcp(server.address())]);
    config.concurrency.most = 1;
    config.concurrency.queue_time = SHORT;
    let origin = Origin::new(config).unwrap();
    work(async {
        let held = origin.fetch(request(Method::GET, "/held", empty()), repeatable());
        let held = held.await.unwrap();
        let error = get(&origin, "/").await.unwrap_err();
        assert_eq!(error.kind(), Kind::QueueTimeout);
        drop(held);
        get(&origin, "/").await.unwrap();
        assert_eq!(origin.report().queued, 0);
    });
}

#[test]
fn how_long_a_request_waited_for_its_turn_is_told() {
    let server = testkit::Origin::start();
    let gate = Gate::new();
    server.reply("/", Reply::ok());
    server.reply("/held", Reply::ok().hold_head(&gate));
    let mut config = config([tcp(server.address())]);
    config.concurrency.most = 1;
    config.concurrency.queue_time = LONG;
    let origin = Origin::new(config).unwrap();
    work(at_once(async {
        let first = async {
            let held = origin.fetch(request(Method::GET, "/held", empty()), repeatable());
            let held = held.await.unwrap();
            assert_eq!(held.extensions().get::<Waited>(), None);
            read(held).await.unwrap();
        };
        let second = async {
            until(|| gate.reached() > 0).await;
            let waits = origin.fetch(request(Method::GET, "/", empty()), repeatable());
            let clock = async {
                until(|| origin.report().queued == 1).await;
                tokio::time::advance(LONG / 2).await;
                gate.open();
            };
            tokio::join!(waits, clock).0.unwrap()
        };
        let ((), second) = tokio::join!(first, second);
        let waited = second.extensions().get();
        assert_eq!(waited, Some(&Waited(LONG / 2)));
    }));
}

/// What a name takes to be resolved is taken off the time for connecting once.
#[test]
fn a_name_that_takes_long_leaves_the_rest_of_the_time_for_connecting() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let mut config = config([Server::new(Address::Tcp {
        host: "localhost".to_owned(),
        port: server.address().port(),
    })]);
    config.timeouts.connect = LONG;
    let origin = Origin::new(config).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        // The thread that the name would be resolved on is busy until then.
        let (resolve, may_resolve) = mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || may_resolve.recv().unwrap());
        let slow = async {
            tokio::time::advance(LONG * 3 / 5).await;
            resolve.send(()).unwrap();
        };
        let asking = async { tokio::join!(biased; get(&origin, "/"), slow).0 };
        let answer = at_once(asking).await;
        assert_eq!(answer.unwrap().status, 200);
        busy.await.unwrap();
    });
}
