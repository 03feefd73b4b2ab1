//! HTTP/2 towards servers.

use crate::{peers::Http2Server, support::*};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use origin::{
    Context, Error, Kind, Origin,
    config::{ActiveHealth, Protocol},
};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::spawn_local,
};

fn text(text: impl Into<String>) -> Response<Full<Bytes>> {
    Response::new(Full::new(text.into().into()))
}

fn origin_of(server: &Http2Server) -> Arc<Origin> {
    let mut config = config([tcp(server.address)]);
    config.protocol = Protocol::Http2;
    config.timeouts.first_byte = LONG;
    Origin::new(config).unwrap()
}

#[test]
fn fetches_share_one_connection() {
    work(async {
        let gate = Rc::new(Notify::new());
        let (arrived, all) = (Rc::new(Cell::new(0)), Rc::clone(&gate));
        // Nobody is answered before all five have arrived.
        let server = Http2Server::start(move |request: Request<Incoming>| {
            let (arrived, all) = (Rc::clone(&arrived), Rc::clone(&all));
            async move {
                arrived.set(arrived.get() + 1);
                if arrived.get() < 5 {
                    all.notified().await;
                }
                all.notify_waiters();
                text(request.uri().to_string())
            }
        })
        .await;
        let origin = origin_of(&server);
        let one = |target| get(&origin, target);
        let answers = tokio::join!(
            one("/1"),
            one("/2?q=%20&&"),
            one("//3"),
            one("/%7e"),
            one("/a/../b")
        );
        let answers = [answers.0, answers.1, answers.2, answers.3, answers.4];
        let texts = answers.map(|answer| answer.unwrap().text().to_owned());
        let want = ["/1", "/2?q=%20&&", "//3", "/%7e", "/a/../b"];
        assert_eq!(
            texts,
            want.map(|target| format!("http://site.example{target}"))
        );
        assert_eq!(server.connections(), 1);
        assert_eq!(origin.report().active, 0);
    });
}

/// A server that allows so many streams, counts what arrives, and answers with its path when the gate is opened.
async fn holding(streams: u32) -> (Http2Server, Rc<Cell<usize>>, Rc<Notify>) {
    let gate = Rc::new(Notify::new());
    let arrived = Rc::new(Cell::new(0));
    let (count, held) = (Rc::clone(&arrived), Rc::clone(&gate));
    let server = Http2Server::with_streams(streams, move |request: Request<Incoming>| {
        let (count, held) = (Rc::clone(&count), Rc::clone(&held));
        async move {
            count.set(count.get() + 1);
            held.notified().await;
            text(request.uri().path())
        }
    });
    (server.await, arrived, gate)
}

/// Streams beyond what the server allows would wait without being sent, until time is up.
#[test]
fn beyond_the_servers_limit_there_is_another_connection() {
    work(async {
        let (server, arrived, gate) = holding(2).await;
        let origin = origin_of(&server);
        let mut fetches = Vec::new();
        for number in 1..=5 {
            let origin = Arc::clone(&origin);
            fetches.push(spawn_local(async move { get(&origin, "/").await }));
            until(|| arrived.get() == number).await;
        }
        assert_eq!(server.connections(), 3);
        gate.notify_waiters();
        for fetch in fetches {
            assert_eq!(fetch.await.unwrap().unwrap().text(), "/");
        }
        let last = spawn_local({
            let origin = Arc::clone(&origin);
            async move { get(&origin, "/").await }
        });
        until(|| arrived.get() == 6).await;
        gate.notify_waiters();
        assert_eq!(last.await.unwrap().unwrap().text(), "/");
        assert_eq!(server.connections(), 3, "there is room again");
    });
}

/// The first ones too: nothing goes out before the server has said what it allows, so that it need not refuse any.
#[test]
fn a_burst_on_a_new_connection_keeps_within_the_servers_limit() {
    work(async {
        let (server, arrived, gate) = holding(2).await;
        let origin = origin_of(&server);
        let fetches: Vec<_> = (0..6)
            .map(|_| {
                let origin = Arc::clone(&origin);
                let request = request(Method::POST, "/", empty());
                spawn_local(async move { origin.fetch(request, Context::default()).await })
            })
            .collect();
        until(|| arrived.get() == 6).await;
        assert_eq!(server.connections(), 3);
        gate.notify_waiters();
        for fetch in fetches {
            assert_eq!(fetch.await.unwrap().unwrap().status(), 200);
        }
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

/// A server that allows one stream at a time, with as many fetches held there as there may be connections.
async fn full() -> (Http2Server, Rc<Cell<usize>>, Rc<Notify>, Arc<Origin>) {
    let (server, arrived, gate) = holding(1).await;
    let origin = origin_of(&server);
    for number in 1..=MOST_SHARED {
        let origin = Arc::clone(&origin);
        spawn_local(async move { get(&origin, "/").await });
        until(|| arrived.get() == number).await;
    }
    (server, arrived, gate, origin)
}

/// Nor later, when there is room.
#[test]
fn who_leaves_before_there_is_room_is_never_sent() {
    work(async {
        let (server, arrived, gate, origin) = full().await;
        let waiting = spawn_local({
            let origin = Arc::clone(&origin);
            async move { once(&origin, Method::POST, "/left").await }
        });
        until(|| origin.report().active == MOST_SHARED + 1).await;
        waiting.abort();
        until(|| origin.report().active == MOST_SHARED).await;
        gate.notify_waiters();
        until(|| origin.report().active == 0).await;
        let last = spawn_local({
            let origin = Arc::clone(&origin);
            async move { get(&origin, "/").await }
        });
        until(|| arrived.get() == MOST_SHARED + 1).await;
        gate.notify_waiters();
        assert_eq!(last.await.unwrap().unwrap().text(), "/");
        assert_eq!(server.connections(), MOST_SHARED);
        assert_eq!(arrived.get(), MOST_SHARED + 1);
    });
}

/// Whatever it brings: nothing of it was asked for.
#[test]
fn what_waits_for_room_goes_elsewhere_when_the_server_leaves() {
    work(async {
        let (server, arrived, gate, origin) = full().await;
        let (sender, body) = pieces();
        let waiting = spawn_local({
            let origin = Arc::clone(&origin);
            async move {
                let asked = request(Method::POST, "/content", body);
                read(origin.fetch(asked, Context::default()).await?).await
            }
        });
        until(|| origin.report().active == MOST_SHARED + 1).await;
        server.go_away();
        until(|| arrived.get() == MOST_SHARED + 1).await;
        assert_eq!(server.connections(), MOST_SHARED + 1);
        drop(sender);
        gate.notify_waiters();
        assert_eq!(waiting.await.unwrap().unwrap().text(), "/content");
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

/// Who says nothing at all is not waited for longer than a connection may take.
#[test]
fn a_server_without_a_first_frame_is_given_up() {
    work(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = config([tcp(address)]);
        config.protocol = Protocol::Http2;
        config.timeouts.connect = Duration::from_millis(50);
        let origin = Origin::new(config).unwrap();
        assert_eq!(kind(get(&origin, "/").await), Kind::ConnectTimeout);
    });
}

/// A check that went out on the last one's connection would say nothing of whether another can be made.
#[test]
fn each_check_makes_a_connection() {
    work(async {
        let checks = Rc::new(Cell::new(0));
        let count = Rc::clone(&checks);
        let server = Http2Server::start(move |_| {
            count.set(count.get() + 1);
            async { text("well") }
        })
        .await;
        let mut config = config([tcp(server.address)]);
        config.protocol = Protocol::Http2;
        config.active = Some(ActiveHealth {
            path: "/health".to_owned(),
            host: None,
            every: Duration::from_millis(1),
            timeout: LONG,
            healthy_after: 1,
            unhealthy_after: 1,
            status: 200..=299,
        });
        let origin = Origin::new(config).unwrap();
        let watch = spawn_local(Arc::clone(&origin).keep_watch());
        until(|| checks.get() == 3).await;
        watch.abort();
        assert_eq!(server.connections(), 3);
        assert!(origin.report().servers[0].healthy);
    });
}

#[test]
fn fields_of_http1_do_not_go_out() {
    work(async {
        let server = Http2Server::start(|request: Request<Incoming>| async move {
            let names: Vec<_> = request
                .headers()
                .keys()
                .map(|name| name.as_str().to_owned())
                .collect();
            text(names.join(","))
        })
        .await;
        let origin = origin_of(&server);
        let mut request = request(Method::GET, "/", empty());
        for (name, value) in [
            ("connection", "keep-alive, x-hop"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("x-kept", "1"),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let response = origin.fetch(request, Context::default()).await.unwrap();
        let names = read(response).await.unwrap();
        assert!(names.text().contains("x-kept"));
        let mut request = self::request(Method::GET, "/", empty());
        let wanted = "websocket".parse().unwrap();
        request.headers_mut().insert("upgrade", wanted);
        let error = origin.fetch(request, Context::default()).await;
        assert_eq!(error.map(drop).unwrap_err().kind(), Kind::NoUpgrade);
        for gone in [
            "host",
            "connection",
            "keep-alive",
            "transfer-encoding",
            "expect",
        ] {
            assert!(!names.text().split(',').any(|name| name == gone), "{gone}");
        }
    });
}

#[test]
fn bodies_go_both_ways() {
    work(async {
        let server = Http2Server::start(|request: Request<Incoming>| async move {
            Response::new(Full::new(
                request.into_body().collect().await.unwrap().to_bytes(),
            ))
        })
        .await;
        let origin = origin_of(&server);
        let (sender, body) = pieces();
        let client = async {
            for piece in ["hello ", "world"] {
                sender.send(piece).await.unwrap();
            }
            drop(sender);
        };
        let fetch = origin.fetch(request(Method::POST, "/", body), Context::default());
        let (response, ()) = tokio::join!(fetch, client);
        assert_eq!(read(response.unwrap()).await.unwrap().text(), "hello world");
    });
}

/// The site's own limit on content says why it broke off.
#[test]
fn why_content_broke_off_is_told() {
    work(async {
        let server = Http2Server::start(|request: Request<Incoming>| async move {
            let came = request.into_body().collect().await;
            text(came.map_or("half", |_| "whole"))
        })
        .await;
        let origin = origin_of(&server);
        let (sender, body) = pieces();
        let client = async {
            for piece in ["a", "!"] {
                sender.send(piece).await.unwrap();
            }
        };
        let fetch = origin.fetch(request(Method::POST, "/", body), Context::default());
        let (response, ()) = tokio::join!(fetch, client);
        let error = response.map(drop).unwrap_err();
        assert_eq!(error.kind(), Kind::RequestBody);
        let first = std::error::Error::source(&error);
        let last = std::iter::successors(first, |cause| cause.source()).last();
        assert_eq!(last.expect("a cause").to_string(), "the client broke");
    });
}

#[test]
fn a_goaway_makes_a_new_connection() {
    work(async {
        let server = Http2Server::start(|_| async { text("fine") }).await;
        let origin = origin_of(&server);
        for round in 1..=3 {
            for method in [Method::GET, Method::POST] {
                once(&origin, method, "/").await.unwrap();
            }
            assert_eq!(server.connections(), round);
            server.go_away();
        }
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

#[test]
fn no_head_in_time_resets_the_stream_only() {
    work(async {
        let hangs = Rc::new(Cell::new(false));
        let hung = Rc::clone(&hangs);
        let server = Http2Server::start(move |request: Request<Incoming>| {
            let hung = Rc::clone(&hung);
            async move {
                if request.uri().path() == "/hang" {
                    hung.set(true);
                    std::future::pending::<()>().await;
                }
                text("fine")
            }
        })
        .await;
        let origin = origin_of(&server);
        let others = Rc::clone(&hangs);
        let (asked, answered) = (Arc::clone(&origin), Rc::new(Cell::new(false)));
        let heard = Rc::clone(&answered);
        spawn_local(async move {
            until(|| others.get()).await;
            get(&asked, "/").await.unwrap();
            heard.set(true);
        });
        let hanging = too_late(get(&origin, "/hang"), || answered.get()).await;
        assert_eq!(kind(hanging), Kind::FirstByteTimeout);
        get(&origin, "/").await.unwrap();
        assert_eq!(server.connections(), 1, "the server is there for others");
    });
}

/// What dies without a word is found out by who runs out of time, and by nobody after him.
#[test]
fn a_connection_on_which_nothing_comes_while_a_fetch_runs_out_of_time_gets_no_further_one() {
    work(async {
        let hangs = Rc::new(Cell::new(0));
        let hung = Rc::clone(&hangs);
        let server = Http2Server::start(move |request: Request<Incoming>| {
            let hung = Rc::clone(&hung);
            async move {
                if request.uri().path() == "/hang" {
                    hung.set(hung.get() + 1);
                    std::future::pending::<()>().await;
                }
                text("fine")
            }
        })
        .await;
        let origin = origin_of(&server);
        get(&origin, "/").await.unwrap();
        let hanging = too_late(get(&origin, "/hang"), || hangs.get() > 0).await;
        assert_eq!(kind(hanging), Kind::FirstByteTimeout);
        get(&origin, "/").await.unwrap();
        assert_eq!(server.connections(), 2);
        get(&origin, "/").await.unwrap();
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn a_server_that_speaks_http1_is_a_protocol_failure() {
    let server = testkit::Origin::start();
    server.otherwise(|_| testkit::Reply::ok());
    let mut config = config([tcp(server.address())]);
    config.protocol = Protocol::Http2;
    let origin = Origin::new(config).unwrap();
    work(async {
        let kind = kind(get(&origin, "/").await);
        assert!(matches!(kind, Kind::Protocol | Kind::Truncated), "{kind:?}");
    });
}

/// Sends a head and half a body, then resets the stream for this reason.
async fn half_then_reset(listener: TcpListener, reason: h2::Reason) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
    let mut body = respond.send_response(Response::new(()), false).unwrap();
    body.send_data(Bytes::from_static(b"half"), false).unwrap();
    let driver = async { while connection.accept().await.is_some() {} };
    let reset = async {
        // The head and the half go out before the reset, which would overtake them.
        tokio::task::yield_now().await;
        body.send_reset(reason);
    };
    tokio::join!(driver, reset);
}

#[test]
fn a_stream_that_is_reset_is_no_whole_body() {
    // hyper alone takes NO_ERROR for an end (RFC 9113 section 8.1 has it mean "stop sending", after a complete response).
    for (reason, want) in [
        (h2::Reason::NO_ERROR, Kind::Truncated),
        (h2::Reason::CANCEL, Kind::Protocol),
        (h2::Reason::INTERNAL_ERROR, Kind::Protocol),
    ] {
        work(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::task::spawn_local(half_then_reset(listener, reason));
            let mut config = config([tcp(address)]);
            config.protocol = Protocol::Http2;
            let origin = Origin::new(config).unwrap();
            let request = request(Method::GET, "/", empty());
            let response = origin.fetch(request, Context::default()).await.unwrap();
            assert_eq!(kind(read(response).await), want, "{reason:?}");
        });
    }
}

/// Answers the first request, and resets all others for this reason. Counts them.
async fn reset_after_one(listener: TcpListener, reason: h2::Reason, asked: Rc<Cell<usize>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let asked = Rc::clone(&asked);
        spawn_local(async move {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_request, mut respond))) = connection.accept().await {
                asked.set(asked.get() + 1);
                if asked.get() == 1 {
                    respond.send_response(Response::new(()), true).unwrap();
                } else {
                    respond.send_reset(reason);
                }
            }
        });
    }
}

#[test]
fn a_stream_that_is_reset_is_asked_for_again_only_if_the_server_had_not_begun() {
    for (reason, want) in [
        (h2::Reason::REFUSED_STREAM, 3),
        (h2::Reason::INTERNAL_ERROR, 2),
        (h2::Reason::CANCEL, 2),
        (h2::Reason::NO_ERROR, 2),
    ] {
        // Then it may be sent again whatever it asks for.
        for (method, repeatable) in [(Method::GET, true), (Method::POST, false)] {
            work(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let asked = Rc::new(Cell::new(0));
                tokio::task::spawn_local(reset_after_one(listener, reason, Rc::clone(&asked)));
                let mut config = config([tcp(address)]);
                config.protocol = Protocol::Http2;
                config.retry.attempts = 0;
                let origin = Origin::new(config).unwrap();
                for is_answered in [true, false] {
                    let context = Context {
                        repeatable,
                        ..Context::default()
                    };
                    let request = request(method.clone(), "/", empty());
                    let answer = origin.fetch(request, context).await;
                    assert_eq!(answer.is_ok(), is_answered, "{method} {reason:?}");
                }
                assert_eq!(asked.get(), want, "{method} {reason:?}");
            });
        }
    }
}

/// What a scripted server does with a request.
#[derive(Clone, Copy, Debug)]
enum Does {
    Answers,
    Holds,
    /// Goes away in peace (RFC 9113 section 6.8), having begun with this many others.
    GoesAfter(u8),
    Closes,
}

/// Serves a connection, and does with each request there what `plan` says of the connection's number and the request's
/// on it.
async fn scripted(listener: TcpListener, plan: fn(usize, usize) -> Does, asked: Rc<Cell<usize>>) {
    for number in 1.. {
        let (stream, _) = listener.accept().await.unwrap();
        let asked = Rc::clone(&asked);
        spawn_local(serve(stream, move |here| {
            asked.set(asked.get() + 1);
            plan(number, here)
        }));
    }
}

async fn serve(mut stream: TcpStream, mut does: impl FnMut(usize) -> Does) {
    const HEADERS: u8 = 1;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    let (mut head, mut here) = ([0; 9], 0);
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.unwrap();
        if head[3] != HEADERS {
            continue;
        }
        here += 1;
        let id = u32::from_be_bytes(head[5..].try_into().unwrap());
        let answer = match does(here) {
            // `:status: 200` (RFC 7541 appendix A), and the end of stream and head.
            Does::Answers => frame(HEADERS, 5, id, &[0x88]),
            Does::Holds => continue,
            // Streams have odd numbers.
            Does::GoesAfter(others) => {
                let last = (2 * others).saturating_sub(1);
                frame(7, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0])
            }
            Does::Closes => return,
        };
        stream.write_all(&answer).await.unwrap();
    }
}

/// An origin whose server does what `plan` says, with so many further attempts allowed, and how many requests came there.
async fn origin_that(
    plan: fn(usize, usize) -> Does,
    attempts: u32,
) -> (Rc<Arc<Origin>>, Rc<Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = config([tcp(listener.local_addr().unwrap())]);
    config.protocol = Protocol::Http2;
    config.retry.attempts = attempts;
    let asked = Rc::new(Cell::new(0));
    spawn_local(scripted(listener, plan, Rc::clone(&asked)));
    (Rc::new(Origin::new(config).unwrap()), asked)
}

/// Others that are still under way there do not keep it on that connection.
#[test]
fn what_a_server_goes_away_without_is_asked_of_the_next_connection_whatever_it_is() {
    work(async {
        // It has not begun with the third.
        let plan = |_, here| [Does::Answers, Does::Holds, Does::GoesAfter(2)][here - 1];
        let (origin, asked) = origin_that(plan, 0).await;
        once(&origin, Method::GET, "/").await.unwrap();
        let other = Rc::clone(&origin);
        let held = spawn_local(async move { once(&other, Method::GET, "/held").await.is_ok() });
        while asked.get() < 2 {
            tokio::task::yield_now().await;
        }
        once(&origin, Method::POST, "/").await.unwrap();
        assert_eq!(asked.get(), 4);
        held.abort();
    });
}

/// Each connection ends after so many requests, and others may have been the ones: it is nobody's fault more than once
/// in a row.
#[test]
fn connections_that_go_away_without_the_request_are_followed_by_others() {
    for method in [Method::GET, Method::POST] {
        work(async {
            let plan = |number, _| [Does::GoesAfter(0), Does::Answers][number / 4];
            let (origin, asked) = origin_that(plan, 0).await;
            once(&origin, method.clone(), "/").await.unwrap();
            assert_eq!(asked.get(), 4);
        });
        work(async {
            let (origin, asked) = origin_that(|_, _| Does::GoesAfter(0), 0).await;
            once(&origin, method.clone(), "/").await.unwrap_err();
            assert_eq!(asked.get(), 4, "{method}");
        });
    }
}

/// A request that ends its connection is sent no oftener than the configuration allows; one on a connection that had
/// answered before was most likely late for it.
#[test]
fn a_request_that_ends_its_connection_is_asked_again_as_the_retries_say() {
    let get = async |origin: &Arc<Origin>| {
        let request = request(Method::GET, "/", empty());
        origin.fetch(request, repeatable()).await.map(drop)
    };
    let closes = |_, _| Does::Closes;
    let late = |number, here| match (number, here) {
        (1, 2) => Does::Closes,
        _ => Does::Answers,
    };
    for (attempts, want) in [(0, 1), (1, 2)] {
        work(async {
            let (origin, asked) = origin_that(closes, attempts).await;
            assert!(get(&origin).await.is_err());
            assert_eq!(asked.get(), want, "{attempts}");
        });
    }
    work(async {
        let (origin, asked) = origin_that(late, 0).await;
        get(&origin).await.unwrap();
        get(&origin).await.unwrap();
        assert_eq!(asked.get(), 3);
    });
}

/// The limit on their number is that of HTTP/1.1. The server adds a `Date`.
#[test]
fn a_head_of_too_many_fields_is_refused() {
    for (own, want) in [(256, Ok(256)), (257, Err(Kind::HeadTooLarge))] {
        work(async {
            let server = Http2Server::start(move |_| async move {
                let mut response = text("");
                for number in 1..own {
                    let name = HeaderName::try_from(format!("x-{number}")).unwrap();
                    let value = HeaderValue::from_static("");
                    response.headers_mut().insert(name, value);
                }
                response
            })
            .await;
            let request = request(Method::GET, "/", empty());
            let answer = origin_of(&server).fetch(request, Context::default()).await;
            let got = answer.as_ref().map(|answer| answer.headers().len());
            assert_eq!(got.map_err(Error::kind), want);
        });
    }
}

/// What is wrong with a head that it resets the stream for, `h2` does not tell.
#[test]
fn a_head_that_is_too_large_is_refused_without_a_reason() {
    for (length, want) in [(1000, Ok(())), (5000, Err(Kind::Protocol))] {
        work(async {
            let server = Http2Server::start(move |_| async move {
                let mut response = text("");
                let value = "x".repeat(length).parse().unwrap();
                response.headers_mut().insert("x-long", value);
                response
            })
            .await;
            let mut config = config([tcp(server.address)]);
            config.protocol = Protocol::Http2;
            config.largest_head = 4096;
            let origin = Origin::new(config).unwrap();
            let got = get(&origin, "/").await;
            assert_eq!(got.map(drop).map_err(|error| error.kind()), want);
        });
    }
}

/// A server that allows one stream at a time, and answers each path when it is released; the paths in the order in
/// which they came.
struct ByPath {
    server: Http2Server,
    came: Rc<RefCell<Vec<String>>>,
    released: Rc<RefCell<Vec<&'static str>>>,
}

impl ByPath {
    async fn start() -> Self {
        let (came, released) = (Rc::default(), Rc::default());
        let (arrivals, leave): (Rc<RefCell<Vec<String>>>, _) =
            (Rc::clone(&came), Rc::clone(&released));
        let server = Http2Server::with_streams(1, move |request: Request<Incoming>| {
            let path = request.uri().path().to_owned();
            arrivals.borrow_mut().push(path.clone());
            let leave: Rc<RefCell<Vec<&'static str>>> = Rc::clone(&leave);
            async move {
                until(|| leave.borrow().contains(&path.as_str())).await;
                text(path)
            }
        });
        Self {
            server: server.await,
            came,
            released,
        }
    }

    /// Has all but eight of the connections that there may be taken up, by as many requests for one path.
    async fn leave_eight(&self, origin: &Arc<Origin>) {
        for number in 1..=MOST_SHARED - 8 {
            let origin = Arc::clone(origin);
            spawn_local(async move { get(&origin, "/held").await });
            until(|| self.came.borrow().len() == number).await;
        }
    }

    /// Answers this path, and returns which came next.
    async fn next_after(&self, path: &'static str) -> String {
        let before = self.came.borrow().len();
        self.released.borrow_mut().push(path);
        until(|| self.came.borrow().len() > before).await;
        self.came.borrow().get(before).unwrap().clone()
    }
}

/// Whichever connection it is on: who waits has the first room that there is, before those that come later.
#[test]
fn the_first_room_goes_to_who_has_waited_longest() {
    work(async {
        let paths = ByPath::start().await;
        let origin = origin_of(&paths.server);
        paths.leave_eight(&origin).await;
        let held = MOST_SHARED - 8;
        // Each asks for its paths one after another, at once.
        let ask = |paths: &'static [&'static str]| {
            let origin = Arc::clone(&origin);
            spawn_local(async move {
                for path in paths {
                    assert_eq!(get(&origin, path).await.unwrap().text(), *path);
                }
            })
        };
        let all: [&[_]; 11] = [
            &["/1"],
            &["/2"],
            &["/3"],
            &["/4"],
            &["/5"],
            &["/6", "/late"],
            &["/7"],
            &["/8"],
            &["/a"],
            &["/b"],
            &["/c"],
        ];
        let mut asking = Vec::new();
        for (number, one) in all.into_iter().enumerate() {
            asking.push(ask(one));
            until(|| origin.report().active == held + number + 1).await;
            until(|| paths.came.borrow().len() == (held + number + 1).min(MOST_SHARED)).await;
        }
        for (answered, next) in [("/5", "/a"), ("/6", "/b"), ("/a", "/c"), ("/3", "/late")] {
            assert_eq!(paths.next_after(answered).await, next);
        }
        paths
            .released
            .borrow_mut()
            .extend(["/late", "/b", "/c", "/1", "/2", "/4", "/7", "/8", "/held"]);
        for one in asking {
            one.await.unwrap();
        }
        assert_eq!(paths.server.connections(), MOST_SHARED);
    });
}

/// Who waited and left is not waited for.
#[test]
fn room_goes_to_the_next_when_the_first_has_left() {
    work(async {
        let paths = ByPath::start().await;
        let origin = origin_of(&paths.server);
        paths.leave_eight(&origin).await;
        let held = MOST_SHARED - 8;
        let mut asking = Vec::new();
        for (number, path) in ["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/a", "/b"]
            .into_iter()
            .enumerate()
        {
            let origin = Arc::clone(&origin);
            let asked = Arc::clone(&origin);
            asking.push(spawn_local(async move { get(&asked, path).await }));
            until(|| origin.report().active == held + number + 1).await;
            until(|| paths.came.borrow().len() == (held + number + 1).min(MOST_SHARED)).await;
        }
        asking[8].abort();
        until(|| origin.report().active == held + 9).await;
        assert_eq!(paths.next_after("/4").await, "/b");
    });
}
