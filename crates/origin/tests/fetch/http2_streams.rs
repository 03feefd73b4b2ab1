//! What goes to and fro on one stream before and beside its answer, to a server that hears and says it frame by frame.

use crate::support::*;
use bytes::Bytes;
use h2::server::{Connection, SendResponse, handshake};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use origin::{
    Context, Error, Interim, Kind, Origin, OriginConfig, ResponseBody,
    config::{Protocol, Server},
};
use std::{
    cell::Cell,
    future::poll_fn,
    rc::Rc,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, spawn_local, yield_now},
    time::Instant,
};

async fn listen() -> (TcpListener, OriginConfig) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = config([tcp(listener.local_addr().unwrap())]);
    config.protocol = Protocol::Http2;
    config.timeouts.first_byte = Duration::from_hours(1);
    config.timeouts.connect = LONG;
    (listener, config)
}

/// The first request on the next connection, which goes on by itself.
async fn accept(listener: TcpListener) -> (Request<h2::RecvStream>, SendResponse<Bytes>) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection: Connection<_, Bytes> = handshake(stream).await.unwrap();
    let asked = connection.accept().await.unwrap().unwrap();
    spawn_local(async move { while connection.accept().await.is_some() {} });
    asked
}

fn status(status: u16) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

#[test]
fn interim_responses_are_passed_on_as_they_come() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        let heard: Arc<Mutex<Vec<(u16, HeaderMap)>>> = Arc::default();
        let told = Arc::clone(&heard);
        let context = Context {
            interim: Some(Interim::new(move |status, fields| {
                let mut heard = told.lock().unwrap();
                heard.push((status.as_u16(), fields.clone()));
            })),
            ..Context::default()
        };
        let asking = origin.fetch(request(Method::GET, "/", empty()), context);
        let server = async {
            let (_request, mut respond) = accept(listener).await;
            let mut hints = status(103);
            let link = "</a.css>; rel=preload".parse().unwrap();
            hints.headers_mut().insert("link", link);
            for interim in [status(100), status(102), hints] {
                respond.send_informational(interim).unwrap();
            }
            // All but the leave, for which nobody had asked.
            until(|| heard.lock().unwrap().len() == 2).await;
            respond.send_response(status(200), true).unwrap();
        };
        let (response, ()) = tokio::join!(asking, server);
        assert_eq!(response.unwrap().status(), 200);
        let heard = heard.lock().unwrap();
        let statuses: Vec<_> = heard.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [102, 103]);
        assert_eq!(heard[1].1["link"], "</a.css>; rel=preload");
    });
}

/// RFC 9113 section 8.2.1: such a message is malformed, and must not be passed on.
#[test]
fn white_space_around_a_value_is_malformed() {
    for (place, expected) in [
        ("interim", Kind::Malformed),
        ("head", Kind::Malformed),
        ("trailers", Kind::Protocol),
    ] {
        work(async {
            let (listener, config) = listen().await;
            let origin = Origin::new(config).unwrap();
            let asking = origin.fetch(request(Method::GET, "/", empty()), Context::default());
            let server = async {
                let (_request, mut respond) = accept(listener).await;
                let padded =
                    || HeaderMap::from_iter([("x".parse().unwrap(), " 1".parse().unwrap())]);
                let head = |code, is_here: bool| {
                    let mut head = status(code);
                    head.headers_mut()
                        .extend(is_here.then(padded).unwrap_or_default());
                    head
                };
                let _ = respond.send_informational(head(103, place == "interim"));
                if let Ok(mut out) = respond.send_response(head(200, place == "head"), false) {
                    let _ = out.send_trailers(padded());
                }
            };
            let asking = async { read(asking.await?).await };
            let (answer, ()) = tokio::join!(asking, server);
            assert_eq!(kind(answer), expected, "{place}");
        });
    }
}

/// As many as a head may have, whether somebody takes them or not.
#[test]
fn trailers_may_be_many_but_not_too_many() {
    for (count, is_taken) in [(256, true), (257, true), (257, false)] {
        work(async {
            let (listener, config) = listen().await;
            let origin = Origin::new(config).unwrap();
            let mut asked = request(Method::POST, "/", full("content"));
            if is_taken {
                asked
                    .headers_mut()
                    .insert("te", "trailers".parse().unwrap());
            }
            let asking = origin.fetch(asked, Context::default());
            let server = async {
                let (asked, mut respond) = accept(listener).await;
                assert_eq!(asked.headers().contains_key("te"), is_taken);
                let mut out = respond.send_response(status(200), false).unwrap();
                let trailers = (0..count).map(|at| (format!("x-{at}"), at));
                let trailers = trailers.map(|(name, at)| (name.parse().unwrap(), at.into()));
                out.send_trailers(trailers.collect()).unwrap();
            };
            let asking = async {
                let body = asking.await.unwrap().into_body();
                let all = body.collect().await?;
                Ok::<_, origin::Error>(all.trailers().map_or(0, HeaderMap::len))
            };
            let (came, ()) = tokio::join!(asking, server);
            match came {
                Ok(came) => assert_eq!((came, count), (256, 256)),
                Err(error) => assert_eq!((error.kind(), count), (Kind::Protocol, 257)),
            }
        });
    }
}

/// RFC 9113 section 8.3.1: without a name there would be no target.
#[test]
fn a_request_that_names_no_host_goes_in_the_servers_own_name() {
    work(async {
        let (listener, config) = listen().await;
        let own = listener.local_addr().unwrap().to_string();
        let origin = Origin::new(config).unwrap();
        let mut asked = request(Method::GET, "/", empty());
        asked.headers_mut().remove("host");
        let asking = origin.fetch(asked, Context::default());
        let server = async {
            let (asked, mut respond) = accept(listener).await;
            respond.send_response(status(200), true).unwrap();
            asked.uri().to_string()
        };
        let (response, target) = tokio::join!(asking, server);
        assert_eq!(response.unwrap().status(), 200);
        assert_eq!(target, format!("http://{own}/"));
    });
}

/// RFC 9110 section 10.1.1: the leave is the server's to give.
#[test]
fn content_waits_for_the_servers_leave() {
    for gives in [true, false] {
        work(async {
            let (listener, config) = listen().await;
            let origin = Origin::new(config).unwrap();
            let mut asked = request(Method::POST, "/", full("content"));
            let expectation = "100-continue".parse().unwrap();
            asked.headers_mut().insert("expect", expectation);
            let asking = origin.fetch(asked, Context::default());
            let server = async {
                let (asked, mut respond) = accept(listener).await;
                assert_eq!(asked.headers()["expect"], "100-continue");
                let mut content = asked.into_body();
                let came = poll_fn(|cx| std::task::Poll::Ready(content.poll_data(cx))).await;
                assert!(came.is_pending());
                if gives {
                    respond.send_informational(status(100)).unwrap();
                    let came = content.data().await.unwrap().unwrap();
                    assert_eq!(came, "content");
                    respond.send_response(status(200), true).unwrap();
                } else {
                    respond.send_response(status(413), true).unwrap();
                    // What was not asked for does not come.
                    let ended = content.data().await.unwrap();
                    assert!(ended.is_err_and(|error| error.is_reset()));
                }
            };
            let ((), response) =
                tokio::join!(server, async { read(asking.await.unwrap()).await.unwrap() });
            assert_eq!(response.status, if gives { 200 } else { 413 });
        });
    }
}

/// RFC 9110 section 6.5.1: they are fields, if none of those that belong into a head.
#[test]
fn a_requests_trailers_go_on() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "abc".parse().unwrap())]);
        let trailing = trailers.clone();
        let body = full("content").with_trailers(async { Some(Ok(trailing)) });
        let asked = request(Method::POST, "/", body.boxed_unsync());
        let asking = origin.fetch(asked, Context::default());
        let server = async {
            let (asked, mut respond) = accept(listener).await;
            let mut content = asked.into_body();
            let mut all = Vec::new();
            while let Some(piece) = content.data().await {
                all.extend_from_slice(&piece.unwrap());
            }
            assert_eq!(all, b"content");
            assert_eq!(content.trailers().await.unwrap(), Some(trailers));
            respond.send_response(status(200), true).unwrap();
        };
        let (response, ()) = tokio::join!(asking, server);
        assert_eq!(response.unwrap().status(), 200);
    });
}

/// What its server has no room for is not handed on: nothing is left of it when the answer has come.
#[test]
fn an_upload_that_is_not_read_leaves_no_stream_behind() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut builder = h2::server::Builder::new();
                let opened = builder.max_concurrent_streams(1).handshake(stream).await;
                let mut connection: Connection<_, Bytes> = opened.unwrap();
                let mut kept = Vec::new();
                while let Some(Ok((asked, mut respond))) = connection.accept().await {
                    let answer = respond.send_response(status(413), true);
                    kept.push((asked, answer, respond));
                }
            }
        });
        for _ in 0..20 {
            let content = vec![b'x'; 65_600];
            let body = http_body_util::Full::new(Bytes::from(content));
            let body = body.map_err(|never| match never {}).boxed_unsync();
            let asked = request(Method::POST, "/", body);
            let response = origin.fetch(asked, Context::default()).await.unwrap();
            assert_eq!(read(response).await.unwrap().status, 413);
        }
    });
}

/// Nobody is left who would be told what becomes of it.
#[test]
fn with_the_end_of_the_answer_the_upload_ends() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        let (sender, body) = pieces();
        sender.send("a").await.unwrap();
        let asking = origin.fetch(request(Method::POST, "/", body), Context::default());
        let server = async {
            let (asked, mut respond) = accept(listener).await;
            let mut content = asked.into_body();
            assert_eq!(content.data().await.unwrap().unwrap(), "a");
            respond.send_response(status(200), true).unwrap();
            let ended = content.data().await.unwrap();
            assert!(ended.is_err_and(|error| error.is_reset()));
        };
        let (response, ()) =
            tokio::join!(async { read(asking.await.unwrap()).await.unwrap() }, server);
        assert_eq!(response.status, 200);
        assert_eq!(origin.report().active, 0);
        assert!(sender.is_closed(), "the client is not asked for more");
    });
}

/// An answer that takes its time does not hold up what its server has yet to read.
#[test]
fn an_upload_goes_on_while_nobody_reads_the_answer() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        let (sender, body) = pieces();
        let asking = origin.fetch(request(Method::POST, "/", body), Context::default());
        let server = async {
            let (asked, mut respond) = accept(listener).await;
            let mut answer = respond.send_response(status(200), false).unwrap();
            answer.send_data(Bytes::from("early"), false).unwrap();
            let mut content = asked.into_body();
            let mut came = Vec::new();
            while let Some(piece) = content.data().await {
                came.extend(piece.unwrap());
            }
            answer.send_data(Bytes::from(came), true).unwrap();
        };
        let client = async {
            let response = asking.await.unwrap();
            for piece in [" and", " late"] {
                sender.send(piece).await.unwrap();
            }
            until(|| sender.capacity() == 1).await;
            drop(sender);
            read(response).await.unwrap()
        };
        let (answer, ()) = tokio::join!(client, server);
        assert_eq!(answer.text(), "early and late");
    });
}

/// The next frame's kind, stream and payload.
async fn frame(stream: &mut TcpStream) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

/// A server that allows streams and hears the first request.
async fn hears(listener: TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    stream.write_all(&settings).await.unwrap();
    hear(&mut stream).await;
    stream
}

/// Hears the next request.
async fn hear(stream: &mut TcpStream) {
    const HEADERS: u8 = 1;
    while frame(stream).await.unwrap().0 != HEADERS {}
}

/// A whole answer, without content.
fn answer(stream: u8) -> Vec<u8> {
    [&[0, 0, 1, 1, 5, 0, 0, 0, stream][..], &[0x88]].concat()
}

/// Lets a second pass, in which everybody does what there is to do.
async fn second() {
    tokio::time::advance(Duration::from_secs(1)).await;
    for _ in 0..100 {
        yield_now().await;
    }
}

/// Lets time pass until a connection on which nothing comes is asked for a sign of life; its payload.
async fn pinged(stream: &mut TcpStream) -> Vec<u8> {
    const PING: u8 = 6;
    let mut coming = std::pin::pin!(async {
        loop {
            let (kind, flags, payload) = frame(stream).await.unwrap();
            if (kind, flags) == (PING, 0) {
                return payload;
            }
        }
    });
    loop {
        tokio::select! {
            biased;
            payload = &mut coming => return payload,
            () = second() => {}
        }
    }
}

#[test]
fn a_connection_that_died_without_a_word_is_given_up() {
    for lives in [true, false] {
        work(async {
            let (listener, config) = listen().await;
            let origin = Origin::new(config).unwrap();
            let asking = spawn_local({
                let origin = Arc::clone(&origin);
                async move { once(&origin, Method::POST, "/").await }
            });
            let mut stream = hears(listener).await;
            tokio::time::pause();
            let payload = pinged(&mut stream).await;
            if lives {
                let pong = [&[0, 0, 8, 6, 1, 0, 0, 0, 0][..], &payload].concat();
                stream.write_all(&pong).await.unwrap();
                // Asked anew, so that the last was heard.
                pinged(&mut stream).await;
                stream.write_all(&answer(1)).await.unwrap();
                tokio::time::resume();
                assert_eq!(asking.await.unwrap().unwrap().status, 200);
            } else {
                tokio::time::advance(Duration::from_secs(11)).await;
                tokio::time::resume();
                assert_eq!(kind(asking.await.unwrap()), Kind::Truncated);
            }
        });
    }
}

/// Lets so many seconds pass.
async fn seconds(count: usize) {
    for _ in 0..count {
        second().await;
    }
}

/// Nothing comes where nobody asks for anything: that is no silence of the server's. Nor is it what others have waited
/// who are gone.
#[test]
fn silence_counts_from_when_a_connection_is_in_use() {
    // Seconds for which it is in no use, in use and in none again, before it comes into use.
    for [idle, used, idle_again] in [[35, 0, 0], [10, 15, 10], [10, 15, 0]] {
        work(async {
            let (listener, config) = listen().await;
            let origin = Origin::new(config).unwrap();
            let get = || {
                let origin = Arc::clone(&origin);
                spawn_local(async move { once(&origin, Method::GET, "/").await })
            };
            let first = get();
            let mut stream = hears(listener).await;
            stream.write_all(&answer(1)).await.unwrap();
            first.await.unwrap().unwrap();
            at_once(async {
                seconds(idle).await;
                if used > 0 {
                    let leaves = get();
                    hear(&mut stream).await;
                    seconds(used).await;
                    leaves.abort();
                    seconds(idle_again).await;
                }
                let began = Instant::now();
                let _waits = get();
                hear(&mut stream).await;
                pinged(&mut stream).await;
                let asked = began.elapsed().as_secs();
                assert!((20..=21).contains(&asked), "{idle} {used}: {asked}");
            })
            .await;
        });
    }
}

/// And from the last that came.
#[test]
fn silence_counts_from_what_came_last() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        let _waits = spawn_local({
            let origin = Arc::clone(&origin);
            async move { once(&origin, Method::GET, "/").await }
        });
        let mut stream = hears(listener).await;
        at_once(async {
            seconds(5).await;
            let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat();
            stream.write_all(&ping).await.unwrap();
            // Its answer.
            while frame(&mut stream).await.unwrap().0 != ping[3] {}
            let heard = Instant::now();
            pinged(&mut stream).await;
            let asked = heard.elapsed().as_secs();
            assert!((20..=21).contains(&asked), "{asked}");
        })
        .await;
    });
}

/// The server was asked for somebody who is gone: it has as long for whoever comes meanwhile as for others.
#[test]
fn who_comes_while_the_server_is_asked_waits_as_long_as_others() {
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        let post = || {
            let origin = Arc::clone(&origin);
            spawn_local(async move { once(&origin, Method::POST, "/").await })
        };
        let leaves = post();
        let mut stream = hears(listener).await;
        let late = at_once(async {
            pinged(&mut stream).await;
            seconds(5).await;
            leaves.abort();
            let waits = post();
            hear(&mut stream).await;
            seconds(29).await;
            assert!(!waits.is_finished());
            seconds(2).await;
            waits.await.unwrap()
        })
        .await;
        assert_eq!(kind(late), Kind::Truncated);
    });
}

/// An engine goes on sending frames of its own while its application hangs. They bring nothing: nobody else is sent there.
#[test]
fn frames_of_the_engine_are_no_sign_of_the_application() {
    const HEADERS: u8 = 1;
    work(at_once(async {
        let (listener, mut config) = listen().await;
        config.timeouts.first_byte = LONG;
        let origin = Origin::new(config).unwrap();
        let asking = spawn_local({
            let origin = Arc::clone(&origin);
            async move { once(&origin, Method::GET, "/").await }
        });
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 24]).await.unwrap();
        stream
            .write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])
            .await
            .unwrap();
        while frame(&mut stream).await.unwrap().0 != HEADERS {}
        // Pings, a new setting, an interim answer: as long as it is waited for.
        let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat();
        let interim = [
            &[0, 0, 5, 1, 4, 0, 0, 0, 1][..],
            &[0x08, 3, b'1', b'0', b'3'],
        ]
        .concat();
        let late = loop {
            if asking.is_finished() {
                break asking.await.unwrap();
            }
            for bytes in [&ping, &interim] {
                stream.write_all(bytes).await.unwrap();
            }
            tokio::time::advance(LONG / 8).await;
        };
        assert_eq!(kind(late), Kind::FirstByteTimeout);
        let again = spawn_local(async move { once(&origin, Method::GET, "/").await });
        let (_second, _) = listener.accept().await.unwrap();
        drop(again);
    }));
}

/// What nobody reads keeps none of the others from being read.
#[test]
fn streams_that_nobody_reads_hold_up_no_other() {
    const LARGE: usize = 1024 * 1024;
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection: Connection<_, Bytes> = handshake(stream).await.unwrap();
            while let Some(asked) = connection.accept().await {
                let (asked, mut respond) = asked.unwrap();
                let length = if asked.uri().path() == "/large" {
                    LARGE
                } else {
                    8
                };
                let mut answer = respond.send_response(status(200), false).unwrap();
                let content = Bytes::from(vec![b'x'; length]);
                answer.send_data(content, true).unwrap();
            }
        });
        let mut unread = Vec::new();
        for _ in 0..50 {
            let large = request(Method::GET, "/large", empty());
            let response = origin.fetch(large, repeatable()).await.unwrap();
            let waits = response.body().unread();
            assert!((100_000..LARGE as u64).contains(&waits), "{waits}");
            unread.push(response);
        }
        let small = get(&origin, "/small").await.unwrap();
        assert_eq!(small.text(), "xxxxxxxx");
        for response in unread {
            assert_eq!(read(response).await.unwrap().body.len(), LARGE);
        }
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

/// RFC 9110 section 6.4.1: 204 and 304 have no content, whatever a server sends behind them.
#[test]
fn answers_without_content_by_their_nature_have_none() {
    for code in [204, 304] {
        work(async {
            let (listener, config) = listen().await;
            let origin = Origin::new(config).unwrap();
            let asked = Request::get("/").header("if-none-match", "\"a\"");
            let asking = origin.fetch(asked.body(empty()).unwrap(), Context::default());
            let server = async {
                let (_request, mut respond) = accept(listener).await;
                let mut out = respond.send_response(status(code), false).unwrap();
                out.send_data("content".into(), true).unwrap();
            };
            let (answer, ()) = tokio::join!(asking, server);
            let mut body = answer.unwrap().into_body();
            assert!(body.is_end_stream(), "{code}");
            assert!(body.frame().await.is_none(), "{code}");
        });
    }
}

/// A server that lets one stream be under way on a connection, and begins an answer on each without ending it; and how
/// many it has begun.
fn never_ending(listener: TcpListener) -> Rc<Cell<usize>> {
    let begun = Rc::new(Cell::new(0));
    let count = Rc::clone(&begun);
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let count = Rc::clone(&count);
            spawn_local(async move {
                let mut builder = h2::server::Builder::new();
                let builder = builder.max_concurrent_streams(1);
                let mut connection: Connection<_, Bytes> = builder.handshake(stream).await.unwrap();
                let mut held = Vec::new();
                while let Some(Ok((_request, mut respond))) = connection.accept().await {
                    count.set(count.get() + 1);
                    held.push(respond.send_response(status(200), false).unwrap());
                }
            });
        }
    });
    begun
}

/// A server that lets one stream be under way on a connection, and ends that in peace (RFC 9113 section 6.8) with its
/// answer. It answers `all` requests, each when as many are under way as there may be connections.
async fn one_each(listener: TcpListener, all: usize) {
    let arrived = Rc::new(Cell::new(0_usize));
    while let Ok((stream, _)) = listener.accept().await {
        let arrived = Rc::clone(&arrived);
        spawn_local(async move {
            let mut builder = h2::server::Builder::new();
            let builder = builder.max_concurrent_streams(1);
            let mut connection: Connection<_, Bytes> = builder.handshake(stream).await.unwrap();
            let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
            arrived.set(arrived.get() + 1);
            let full = arrived.get().next_multiple_of(MOST_SHARED).min(all);
            until(|| arrived.get() >= full).await;
            connection.graceful_shutdown();
            respond.send_response(status(200), true).unwrap();
            while connection.accept().await.is_some() {}
        });
    }
}

/// What has had no stream yet is nobody's failure, however many connections end meanwhile.
#[test]
fn what_waits_for_a_stream_outlives_connections_that_end_in_peace() {
    const ALL: usize = MOST_SHARED * 7 + 4;
    work(async {
        let (listener, config) = listen().await;
        let origin = Origin::new(config).unwrap();
        spawn_local(one_each(listener, ALL));
        let mut fetches = Vec::new();
        for _ in 0..ALL {
            let origin = Arc::clone(&origin);
            let fetch = async move { once(&origin, Method::POST, "/").await };
            fetches.push(spawn_local(fetch));
        }
        for fetch in fetches {
            assert_eq!(fetch.await.unwrap().unwrap().status, 200);
        }
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

/// Lets one stream be under way on a connection, and begins an answer there that has no end. The connection is given
/// back when `ends` says so.
async fn hold_one(
    stream: TcpStream,
    begun: Rc<Cell<usize>>,
    ends: impl Fn() -> bool,
) -> Connection<TcpStream, Bytes> {
    let mut builder = h2::server::Builder::new();
    let builder = builder.max_concurrent_streams(1);
    let mut connection: Connection<_, Bytes> = builder.handshake(stream).await.unwrap();
    let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
    let _answer = respond.send_response(status(200), false).unwrap();
    begun.set(begun.get() + 1);
    tokio::select! {
        _ = connection.accept() => {}
        () = until(ends) => {}
    }
    connection
}

/// A server that [holds](hold_one) a stream on each connection. The first connection ends in peace when `ends` says
/// so; how many answers have begun.
fn held_each(listener: TcpListener, ends: Rc<Cell<bool>>) -> Rc<Cell<usize>> {
    let begun = Rc::new(Cell::new(0));
    let count = Rc::clone(&begun);
    spawn_local(async move {
        let mut is_first = true;
        while let Ok((stream, _)) = listener.accept().await {
            let ends = Rc::clone(&ends);
            let may_end = std::mem::take(&mut is_first);
            let held = hold_one(stream, Rc::clone(&count), move || may_end && ends.get());
            spawn_local(async move {
                let mut connection = held.await;
                connection.graceful_shutdown();
                while connection.accept().await.is_some() {}
            });
        }
    });
    begun
}

/// A server that [holds](hold_one) a stream on each connection until they all `die`, and says nothing on those made
/// afterwards; how many of these there are.
fn dying_at_once(listener: TcpListener, die: Rc<Cell<bool>>) -> Rc<Cell<usize>> {
    let silent = Rc::new(Cell::new(0));
    let count = Rc::clone(&silent);
    spawn_local(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            if die.get() {
                kept.push(stream);
                count.set(kept.len());
            } else {
                let die = Rc::clone(&die);
                let held = hold_one(stream, Rc::default(), move || die.get());
                spawn_local(async move { drop(held.await) });
            }
        }
    });
    silent
}

/// An answer, or one that is waited for.
type Fetched = Result<Response<ResponseBody>, Error>;

fn post(origin: &Arc<Origin>) -> JoinHandle<Fetched> {
    let origin = Arc::clone(origin);
    let asked = request(Method::POST, "/", empty());
    spawn_local(async move { origin.fetch(asked, Context::default()).await })
}

/// Has as many answers under way as there may be connections, each with one stream, and so many more that wait, in order.
async fn crowd(
    origin: &Arc<Origin>,
    more: usize,
) -> (Vec<Response<ResponseBody>>, Vec<JoinHandle<Fetched>>) {
    let mut under_way = Vec::new();
    for _ in 0..MOST_SHARED {
        under_way.push(post(origin).await.unwrap().unwrap());
    }
    let mut waiting = Vec::new();
    for active in MOST_SHARED + 1..=MOST_SHARED + more {
        waiting.push(post(origin));
        let are_all = || {
            origin
                .report()
                .servers
                .iter()
                .any(|one| one.active == active)
        };
        until(are_all).await;
    }
    (under_way, waiting)
}

/// What waits for a stream has its time once, and not on each connection.
#[test]
fn the_time_for_a_stream_goes_on_from_connection_to_connection() {
    work(async {
        let (listener, mut config) = listen().await;
        config.timeouts.first_byte = LONG;
        config.timeouts.between_bytes = Duration::from_hours(1);
        let ends = Rc::new(Cell::new(false));
        let begun = held_each(listener, Rc::clone(&ends));
        let origin = Origin::new(config).unwrap();
        let (_under_way, mut waiting) = crowd(&origin, 8).await;
        tokio::time::pause();
        tokio::time::advance(LONG * 3 / 5).await;
        ends.set(true);
        until(|| begun.get() == MOST_SHARED + 1).await;
        tokio::time::advance(LONG * 3 / 5).await;
        for _ in 0..100 {
            yield_now().await;
        }
        // Who was first has made the next connection. The others have waited in vain.
        let [first, last] = [waiting.remove(0), waiting.pop().unwrap()];
        assert!(first.is_finished() && last.is_finished());
        let (answered, late): (Vec<_>, Vec<_>) = [first.await.unwrap(), last.await.unwrap()]
            .into_iter()
            .partition(Result::is_ok);
        assert_eq!(answered.len(), 1);
        assert!(
            late.into_iter()
                .all(|late| kind(late) == Kind::QueueTimeout)
        );
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

/// Where no connection is left to wait for, the one that is being made decides for all at once, also for who comes then.
#[test]
fn who_waits_shares_the_fate_of_the_only_connection_to_be() {
    work(async {
        let (listener, mut config) = listen().await;
        config.timeouts.connect = LONG;
        let die = Rc::new(Cell::new(false));
        let silent = dying_at_once(listener, Rc::clone(&die));
        let origin = Origin::new(config).unwrap();
        let (under_way, mut waiting) = crowd(&origin, 4).await;
        die.set(true);
        for response in under_way {
            assert!(read(response).await.is_err());
        }
        until(|| silent.get() == 1).await;
        waiting.push(post(&origin));
        tokio::time::pause();
        second().await;
        tokio::time::advance(LONG).await;
        second().await;
        assert!(waiting.iter().all(JoinHandle::is_finished));
        for fetch in waiting {
            assert_eq!(kind(fetch.await.unwrap()), Kind::ConnectTimeout);
        }
    });
}

/// RFC 9110 section 9.2.2: what found no stream in time was never sent, and may go to another server whatever its
/// method. That is nobody's fault.
#[test]
fn what_finds_no_stream_in_time_goes_to_another_server() {
    work(async {
        let (busy, mut config) = listen().await;
        let (other, _) = listen().await;
        let backup = Server {
            backup: true,
            ..tcp(other.local_addr().unwrap())
        };
        config.servers.push(backup);
        config.timeouts.first_byte = LONG;
        let begun = never_ending(busy);
        let origin = Origin::new(config).unwrap();
        let fetch = |method| origin.fetch(request(method, "/", empty()), Context::default());
        // On as many connections as there may be.
        let mut under_way = Vec::new();
        for _ in 0..MOST_SHARED {
            under_way.push(fetch(Method::GET).await.unwrap());
        }
        let server = async {
            let (_request, mut respond) = accept(other).await;
            respond.send_response(status(204), true).unwrap();
        };
        let waits = || origin.report().servers[0].active == MOST_SHARED + 1;
        let (answer, ()) = tokio::join!(too_late(fetch(Method::POST), waits), server);
        assert_eq!(answer.unwrap().status(), 204);
        assert_eq!(begun.get(), MOST_SHARED, "it was never sent there");
        let report = origin.report();
        let failures = report.servers.iter().map(|server| server.failures);
        assert_eq!(failures.sum::<u64>(), 0);
    });
}
